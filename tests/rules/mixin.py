"""The mixin holds the alerts and dashboards of the files, beside those of other mixins, and changes what `_config` says."""

import json
import pathlib
import re

import _jsonnet
import yaml
from cases import ALERTS

ROOT = str(pathlib.Path(__file__).resolve().parent.parent.parent)
OTHER = "{ prometheusAlerts+:: { groups+: [{ name: 'other', rules: [] }] }, _config+:: { other: 1 } }"


def groups(config):
    source = f"""
        local mixin = {OTHER} + (import 'grafana/mixin.libsonnet') + {{ _config+:: {config} }};
        mixin.prometheusAlerts.groups + [{{ name: 'other', rules: [], of: mixin._config.other }}]
    """
    return json.loads(_jsonnet.evaluate_snippet("test", source, jpathdir=[ROOT]))


other = {"name": "other", "rules": []}
assert groups("{}") == [other, *yaml.safe_load(ALERTS.read_text())["groups"], other | {"of": 1}]

changed = {
    rule["alert"]: rule
    for group in groups("""{
        selector: 'job="l10n"', clusterLabel: 'k8s', runbookUrlPattern: 'https://wiki/%s', grafanaUrl: 'https://grafana',
        overrides: { TranslationStalled: { 'for': '1h', annotations: { summary: 'S' } }, TranslationStateDiscarded: null },
    }""")
    for rule in group["rules"]
}
rejected = changed["TranslationApiKeyRejected"]
assert rejected["expr"] == (
    'max by (k8s, namespace, job) (last_over_time(translation_exporter_problem{job="l10n", kind="api_key"}[15m])) == 1'
)
assert rejected["annotations"]["runbook_url"] == "https://wiki/translationapikeyrejected"
assert rejected["annotations"]["dashboard"] == "https://grafana/d/translation-exporter?var-job={{ urlquery $labels.job }}"
down = changed["TranslationExporterDown"]["expr"]
assert 'up{job="l10n"} == 0' in down and "on (k8s, namespace, job, instance)" in down
assert 'max(translation_target_ratio{k8s=%q,namespace=%q,job=%q,repo=%q,language=%q})" $labels.k8s $labels.namespace ' in (
    changed["TranslationRegressed"]["annotations"]["target"]
)
assert "cluster" not in json.dumps(changed)
stalled = changed["TranslationStalled"]
assert (stalled["for"], stalled["annotations"]["summary"], "description" in stalled["annotations"]) == ("1h", "S", True)
assert "TranslationStateDiscarded" not in changed

try:
    groups("{ overrides: { TranslationStaled: {} } }")
except RuntimeError as refusal:
    assert "_config.overrides: there is no TranslationStaled; there are " in str(refusal), refusal
else:
    raise AssertionError("the mixin takes TranslationStaled")


def dashboards(config):
    source = f"((import 'grafana/mixin.libsonnet') + {{ _config+:: {config} }}).grafanaDashboards"
    return _jsonnet.evaluate_snippet("test", source, jpathdir=[ROOT])


files = (pathlib.Path(ROOT) / "grafana" / "dashboards").glob("*.json")
assert json.loads(dashboards("{}")) == {file.name: json.loads(file.read_text()) for file in files}
# The variable is still called cluster.
renamed = dashboards("{ clusterLabel: 'k8s' }")
assert not re.search(r'(?<!"name": ")(?<![${])\bcluster\b', renamed)
assert "label_values(translation_exporter_build_info, k8s)" in renamed
print("the mixin is the files, beside those of others, and changes what its configuration says")
