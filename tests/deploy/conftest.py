"""Fixtures of what is installed: the manifests as kubectl and Helm render them, and folders that are other systems."""

import subprocess

import pytest
import yaml
from deploy.chart import CHART, template
from harness import ROOT

KUBERNETES = ROOT / "deploy/kubernetes"


def kustomize(folder):
    done = subprocess.run(["kubectl", "kustomize", folder], check=True, capture_output=True, text=True)
    return [one for one in yaml.safe_load_all(done.stdout) if one]


@pytest.fixture(scope="session")
def renderings():
    """The objects of each overlay, and of the chart with each file of ci/, by name."""
    overlays = {folder.name: kustomize(folder) for folder in sorted((KUBERNETES / "overlays").iterdir())}
    files = {f"chart-{file.name.removesuffix('-values.yaml')}": file for file in sorted(CHART.glob("ci/*-values.yaml"))}
    return overlays | {name: template(yaml.safe_load(file.read_text()), hooks="") for name, file in files.items()}
