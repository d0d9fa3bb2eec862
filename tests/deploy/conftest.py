"""The manifests as kubectl and Helm render them."""

import pytest
import yaml
from deploy.chart import CHART, KUBERNETES, kustomize, template


@pytest.fixture(scope="session")
def renderings():
    """The objects of each overlay, and of the chart with each file of ci/, by name."""
    overlays = {folder.name: kustomize(folder) for folder in sorted((KUBERNETES / "overlays").iterdir())}
    files = {f"chart-{file.name.removesuffix('-values.yaml')}": file for file in sorted(CHART.glob("ci/*-values.yaml"))}
    return overlays | {name: template(yaml.safe_load(file.read_text())) for name, file in files.items()}
