"""The alerts: promtool runs the plain rule tests beside this file, and each alert has what its reader needs."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from harness import ROOT

HERE = Path(__file__).parent
PROMETHEUS = ROOT / "deploy/prometheus"
GROUPS = yaml.safe_load((PROMETHEUS / "alerts.yaml").read_text())["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
FILES = sorted(HERE.glob("*.yaml"))


@pytest.mark.parametrize(
    "command",
    [
        ["promtool", "check", "rules", "--lint=all", "--lint-fatal", "alerts.yaml"],
        ["promtool", "check", "config", "prometheus.yaml"],
        ["amtool", "check-config", "alertmanager.yaml"],
    ],
    ids=" ".join,
)
def test_the_shipped_files_are_valid(command):
    subprocess.run(command, cwd=PROMETHEUS, check=True)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_rules_fire_when_they_should_and_only_then(file):
    subprocess.run(["promtool", "test", "rules", file], check=True)


def test_each_alert_has_a_rule_test():
    tested = "".join(file.read_text() for file in FILES)
    assert [rule["alert"] for rule in RULES if rule["alert"] not in tested] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_each_alert_says_what_it_is_about_and_where_to_read_on(rule):
    annotations = rule["annotations"]
    translation = "repo, language" in rule["expr"]
    subject = ["repo", "language"] if translation else ["job"]
    for text in (annotations["summary"], annotations["description"]):
        assert all(f"{{{{ $labels.{label} }}}}" in text for label in subject), text
    assert not annotations["summary"].endswith(".")
    dashboard = "translation-repository" if translation else "translation-exporter"
    assert f"/d/{dashboard}?" in annotations["dashboard_url"] and "var-job=" in annotations["dashboard_url"]
    assert annotations["runbook_url"].endswith(f"/deploy/prometheus/runbook.md#{rule['alert'].lower()}")
    # Each active alert makes its queries at each evaluation.
    asked = {name: len(re.findall(r"\bquery\b", text)) for name, text in annotations.items()}
    assert asked.pop("description") == 1 if translation else asked["description"] <= 1
    assert not any(count for name, count in asked.items() if name != "description")


def test_the_runbook_has_a_section_for_each_alert():
    headings = re.findall(r"^#+ (\w+)$", (PROMETHEUS / "runbook.md").read_text(), re.MULTILINE)
    assert {rule["alert"] for rule in RULES} - set(headings) == set()


def test_besides_up_the_rules_read_only_series_of_exporters_each_with_a_place_for_the_selector_of_the_mixin():
    for rule in RULES:
        names = re.findall(r"\bup\b|\btranslation_\w+", rule["expr"])
        assert names == re.findall(r"(\w+)\{", rule["expr"]) != [], rule["expr"]
