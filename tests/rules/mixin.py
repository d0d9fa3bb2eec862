"""The mixin holds the rules and dashboards of the files, beside those of other mixins, and changes what `_config` says."""

import json
import pathlib
import re

import _jsonnet
import yaml
from cases import RULES

ROOT = str(pathlib.Path(__file__).resolve().parent.parent.parent)
OTHER = "{ prometheusAlerts+:: { groups+: [{ name: 'other', rules: [] }] }, prometheusRules+:: { groups+: [] }, _config+:: { other: 1 } }"


def rules(config):
    source = f"""
        local mixin = {OTHER} + (import 'grafana/mixin.libsonnet') + {{ _config+:: {config} }};
        mixin.prometheusAlerts.groups + mixin.prometheusRules.groups + [{{ name: 'other', rules: [], of: mixin._config.other }}]
    """
    return json.loads(_jsonnet.evaluate_snippet("test", source, jpathdir=[ROOT]))


files = [yaml.safe_load((RULES / file).read_text())["groups"] for file in ("alerts.yaml", "recording-rules.yaml")]
other = {"name": "other", "rules": []}
assert rules("{}") == [other, *files[0], *files[1], other | {"of": 1}]

changed = {
    rule.get("alert") or rule["record"]: rule
    for group in rules("""{
        selector: 'job="l10n"', clusterLabel: 'k8s', runbookUrlPattern: 'https://wiki/%s', grafanaUrl: 'https://grafana',
        thresholds: { 'translation:regressed_by_ratio': 0.25 },
        overrides: { TranslationStalled: { 'for': '1h', annotations: { summary: 'S' } }, TranslationStateDiscarded: null },
    }""")
    for rule in group["rules"]
}
assert changed["translation:regressed_by_ratio"]["expr"] == "vector(0.25)"
assert changed["repo_language:translation_completion_ratio:max"]["expr"] == (
    'max by (k8s, namespace, job, repo, language) (translation_completion_ratio{job="l10n"})'
)
rejected = changed["TranslationApiKeyRejected"]
assert rejected["expr"] == (
    'max by (k8s, namespace, job) (last_over_time(translation_exporter_problem{job="l10n", kind="api_key"}[15m])) == 1'
)
assert rejected["annotations"]["runbook_url"] == "https://wiki/translationapikeyrejected"
assert rejected["annotations"]["dashboard"] == "https://grafana/d/translation-exporter?var-job={{ urlquery $labels.job }}"
assert 'up{job="l10n", job=~".*translation-exporter.*"}' in changed["job:translation_exporter_up:min"]["expr"]
stalled = changed["TranslationStalled"]
assert (stalled["for"], stalled["annotations"]["summary"], "description" in stalled["annotations"]) == ("1h", "S", True)
assert "TranslationStateDiscarded" not in changed

for section, name, value in (("thresholds", "stalledAfter", 5), ("thresholds", "translation:ready", 5), ("overrides", "TranslationStaled", {})):
    try:
        rules(json.dumps({section: {name: value}}))
    except RuntimeError as refusal:
        assert f"_config.{section}: there is no {name}; there are " in str(refusal), refusal
    else:
        raise AssertionError(f"the mixin takes {name}")


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
