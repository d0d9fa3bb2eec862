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
def test_each_alert_says_what_is_wrong_and_where_its_runbook_is(rule):
    annotations = rule["annotations"]
    translation = "repo, language" in rule["expr"]
    expected = {"summary", "description", "runbook_url"} | ({"status", "link"} if translation else set())
    assert annotations.keys() == expected
    assert "{{" not in annotations["summary"]
    assert f"$labels.{'repo' if translation else 'job'}" in annotations["description"]
    assert annotations["runbook_url"].endswith(f"/deploy/prometheus/runbook.md#{rule['alert'].lower()}")
    assert sum("query" in text for text in annotations.values()) <= 2


def test_the_runbook_has_a_section_for_each_alert():
    headings = re.findall(r"^#+ (\w+)$", (PROMETHEUS / "runbook.md").read_text(), re.MULTILINE)
    assert {rule["alert"] for rule in RULES} - set(headings) == set()


def test_groups_are_evaluated_within_the_5_minutes_that_prometheus_looks_back():
    assert {group["interval"] for group in GROUPS} == {"4m"}


def test_besides_up_the_rules_read_only_series_of_exporters():
    for rule in RULES:
        bare = re.sub(r"\{[^}]*\}", "", rule["expr"])
        names = re.findall(r"\bup\b|\b[a-z]+(?:_[a-z]+){2,}\b(?!\()", bare)
        assert names and all(name == "up" or name.startswith("translation_") for name in names), names
