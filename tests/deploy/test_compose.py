"""The Compose files, and the files that they mount."""

import re
import shutil
import subprocess

import pytest
import yaml
from harness import ROOT

COMPOSE = ROOT / "deploy/compose"


@pytest.fixture
def mounted(tmp_path):
    """A folder for each service, with what is mounted into it."""
    for name, service in yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"].items():
        for volume in service.get("volumes", []):
            source, target, *options = volume.split(":")
            if source.startswith("."):
                assert options == ["ro"], f"{name} could write to {source}"
                into = tmp_path / name / target.lstrip("/")
                into.parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if (COMPOSE / source).is_dir() else shutil.copy)(COMPOSE / source, into)
    return tmp_path


def test_the_files_fit_the_schema_of_compose():
    files = [COMPOSE / "compose.yaml", COMPOSE / "account.yaml"]
    subprocess.run(["check-jsonschema", "--builtin-schema", "vendor.compose-spec", *files], check=True)


def test_each_service_accepts_its_mounted_configuration(mounted):
    subprocess.run(["promtool", "check", "config", "prometheus.yml"], cwd=mounted / "prometheus/etc/prometheus", check=True)
    subprocess.run(["amtool", "check-config", mounted / "alertmanager/etc/alertmanager/alertmanager.yml"], check=True)
    assert list((mounted / "grafana/var/lib/grafana/dashboards").glob("*.json"))


def test_the_program_understands_the_command_for_an_account(program, tmp_path):
    words = yaml.safe_load((COMPOSE / "account.yaml").read_text())["services"]["exporter"]["command"]
    (tmp_path / "key").write_text("a-key")
    values = {"BASE_URL": "https://translations.example.com"}
    command = [re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: values[found[1]], word) for word in words]
    here = [
        word.replace("/run/secrets/api-key", f"{tmp_path}/key").replace("/var/lib/translation-exporter", str(tmp_path)) for word in command
    ]
    subprocess.run([program, *here, "check-config"], check=True)
