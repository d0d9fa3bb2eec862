"""The mixin is the files, beside those of other mixins, with its configuration applied."""

import json
import subprocess

import _jsonnet
import yaml
from harness import ROOT

OTHER = "{ prometheusAlerts+:: { groups+: [{ name: 'other', rules: [] }] }, grafanaDashboards+:: { 'other.json': {} } }"
ALERTS = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text())


def mixin(config="{}"):
    """Its groups and dashboards beside those of another mixin."""
    source = f"local mixin = {OTHER} + (import 'grafana/mixin.libsonnet') + {{ _config+:: {config} }}; "
    source += "[mixin.prometheusAlerts.groups, mixin.grafanaDashboards]"
    return json.loads(_jsonnet.evaluate_snippet("test", source, jpathdir=[str(ROOT)]))


def test_the_mixin_adds_the_files_to_those_of_others():
    groups, dashboards = mixin()
    assert groups == [{"name": "other", "rules": []}, *ALERTS["groups"]], "and no job that could be absent"
    files = {file.name: json.loads(file.read_text()) for file in (ROOT / "grafana/dashboards").glob("*.json")}
    assert dashboards == {"other.json": {}} | files


def test_selector_severities_and_links_are_those_of_the_configuration(tmp_path):
    config = """{
        selector: 'job="l10n"', severities+: { exporters: 'critical' },
        runbookUrl: 'https://wiki.example.com', dashboardUrl: 'https://grafana.example.com',
    }"""
    _, translations, exporters, absent = mixin(config)[0]
    (tmp_path / "rules.yaml").write_text(json.dumps({"groups": [translations, exporters, absent]}))
    subprocess.run(["promtool", "check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"], cwd=tmp_path, check=True)
    assert [rule["alert"] for rule in absent["rules"]] == ["TranslationExporterAbsent"]
    for group, severity in ((translations, "warning"), (exporters, "critical"), (absent, "critical")):
        for rule in group["rules"]:
            assert rule["expr"].count("{") == rule["expr"].count('{job="l10n"'), rule["expr"]
            assert rule["labels"]["severity"] == severity
            assert rule["annotations"]["runbook_url"] == f"https://wiki.example.com#{rule['alert'].lower()}"
            assert rule["annotations"]["dashboard_url"].startswith("https://grafana.example.com/d/")
