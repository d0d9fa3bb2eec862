"""The mixin is the files, beside those of other mixins."""

import json

import _jsonnet
import yaml
from harness import ROOT

OTHER = "{ prometheusAlerts+:: { groups+: [{ name: 'other', rules: [] }] }, grafanaDashboards+:: { 'other.json': {} } }"


def test_the_mixin_adds_the_files_to_those_of_others():
    source = f"local mixin = {OTHER} + (import 'grafana/mixin.libsonnet'); [mixin.prometheusAlerts.groups, mixin.grafanaDashboards]"
    groups, dashboards = json.loads(_jsonnet.evaluate_snippet("test", source, jpathdir=[str(ROOT)]))
    alerts = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text())
    assert groups == [{"name": "other", "rules": []}, *alerts["groups"]]
    files = {file.name: json.loads(file.read_text()) for file in (ROOT / "grafana/dashboards").glob("*.json")}
    assert dashboards == {"other.json": {}} | files
