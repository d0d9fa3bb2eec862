"""The Helm chart: its values, and what it renders."""

import collections
import functools
import json
import operator
import re
import shutil
import subprocess

import pytest
import yaml
from deploy.chart import ALL_ON, BASE_URL, CHART, Refused, merged, nested, rendered, template, the
from harness import ROOT

DIGEST = "sha256:" + 64 * "d"
ABSENT = "TranslationExporterAbsent"

FILES = sorted(CHART.glob("ci/*-values.yaml"))
# Maps that the objects take as they are.
WHOLE = {("resources",), ("podSecurityContext",), ("securityContext",), ("livenessProbe",), ("readinessProbe",)}
# The test of a release sets the tag, and a second route in login-values.yaml redirects; Gateway API has no other route that fits.
ELSEWHERE = {("image", "tag"), *(("route", "main", name) for name in ("apiVersion", "kind", "httpsRedirect"))}


def paths(values, above=()):
    """The names of all values, as tuples."""
    for key, value in values.items():
        path = (*above, key)
        if isinstance(value, dict) and value and path not in WHOLE:
            yield from paths(value, path)
        else:
            yield path


def without(values, path):
    first, *rest = path
    return values | {first: without(values[first], rest)} if rest else {key: value for key, value in values.items() if key != first}


def scalars(value):
    """The texts and numbers in a value."""
    match value:
        case dict():
            return [one for inner in value.values() for one in scalars(inner)]
        case list():
            return [one for inner in value for one in scalars(inner)]
    return [] if isinstance(value, bool) or value is None or "{{" in str(value) else [str(value)]


def lines(values):
    return collections.Counter(rendered(values).splitlines())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_value_of_a_file_shows_in_the_objects(file):
    values, defaults = yaml.safe_load(file.read_text()), (CHART / "values.yaml").read_text()
    with_all = lines(values)
    for path in paths(values):
        try:
            with_less = lines(without(values, path))
        except Refused:
            continue
        changed = "\n".join((with_all - with_less) + (with_less - with_all))
        assert changed, path
        for text in scalars(functools.reduce(operator.getitem, path, values)):
            assert text in changed or text in defaults, f"{path}: no {text} in\n{changed}"


def test_no_value_is_left_out_of_the_files():
    used = {path for file in FILES for path in paths(yaml.safe_load(file.read_text()))} | ELSEWHERE
    for path in paths(yaml.safe_load((CHART / "values.yaml").read_text())):
        assert any(one[: len(path)] == path for one in used), f"no file of ci/ sets {'.'.join(path)}"


REFUSED = [
    # Values, and what the message must name.
    ({"config": None}, "at '': missing property 'config'"),
    ({"config": {}}, "at '/config': missing property 'api'"),
    (nested("config.api.base_url", ""), "at '/config/api/base_url': minLength"),
    ({"ingress": None}, "at '': missing property 'ingress'"),
    ({"existingSecret": "targets"}, "config, existingConfigMap and existingSecret exclude each other"),
    (nested("config.api.key", "secret"), "config.api.key cannot be set"),
    (nested("config.state.file", "/a"), "config.state.file cannot be set"),
    (nested("config.web.listen_addresses", [":1"]), "config.web.listen_addresses cannot be set"),
    (nested("fullnameOverride", "9lives"), "fullnameOverride"),
    (nested("webConfig.tls", True), "webConfig.existingSecret"),
    ({"webConfig": {"existingSecret": "web", "clientCertificates": True}}, "webConfig.tls"),
    (nested("ingress.servicePort", 4180), "ingress.servicePort"),
    (merged(ALL_ON, nested("prometheusRule.disabled", ["TranslationStaled"])), "no alert TranslationStaled"),
    (merged(ALL_ON, nested("prometheusRule.overrides.Other.for", "1h")), "no alert Other"),
    # By the schema of the values.
    ({"servcie": {"port": 10018}}, "servcie"),
    (nested("service.port", 80), "/service/port"),
    (nested("persistence.enabled", "yes"), "/persistence/enabled"),
    (nested("image.digest", "latest"), "/image/digest"),
    (nested("route.Main", {}), "'Main' does not match"),
    # By the schema of the configuration.
    (nested("config.api.base_ur", "https://a"), "at '/config/api': additional properties 'base_ur' not allowed"),
    (nested("config.poll.interval", False), "at '/config/poll/interval': got boolean"),
    (nested("config.targets", [{"ratio": 95}]), "at '/config/targets/0/ratio': maximum"),
]


@pytest.mark.parametrize(("values", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_a_wrong_value_is_refused_and_named(values, message):
    with pytest.raises(Refused, match=re.escape(message)):
        template(values if values.get("config", 1) in (None, {}) else merged(BASE_URL, values))


def test_the_linter_without_values_ends_in_the_sentence_of_the_schema():
    said = subprocess.run(["helm", "lint", CHART], capture_output=True, text=True).stdout
    assert "at '/config': missing property 'api'" in said and "nil pointer" not in said, said


def test_what_a_parent_chart_sets_and_null_are_accepted():
    objects = template(merged(BASE_URL, {"global": {"imageRegistry": "any.example.com"}, "enabled": True}))
    image = the(objects, "StatefulSet")["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image.startswith("any.example.com/translation-exporter/translation-exporter:")
    # Null is not set, as in the file.
    unset = {"api": {"page_size": None, "ca_file": ""}, "poll": None, "filter": {"include": []}, "targets": []}
    template(merged(BASE_URL, {"config": unset}))


def test_rules_and_dashboards_of_the_chart_are_those_of_the_project():
    ours = [ROOT / "deploy/prometheus/alerts.yaml", *(ROOT / "grafana/dashboards").glob("*.json")]
    copies = {file.name: file.read_text() for file in CHART.glob("files/*/*")}
    assert copies == {file.name: file.read_text() for file in ours}, "run tests/generate.sh"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_helm_lints_each_set_of_values(file):
    subprocess.run(["helm", "lint", "--strict", "--quiet", CHART, "--values", file], check=True, capture_output=True)


def test_the_values_in_the_readme_are_accepted():
    blocks = re.findall(r"(?ms)^```yaml\n(.*?)^```", (CHART / "README.md").read_text())
    values = [block for block in blocks if not block.startswith("apiVersion:")]
    assert values
    for block in values:
        template(merged(BASE_URL, yaml.safe_load(block)))


def test_a_release_name_of_any_length_gives_valid_names():
    """A release name of any length gives valid names, which begin with it; the cluster may choose the user."""
    release = "r" * 53
    for one in template(ALL_ON, release):
        assert one["metadata"]["name"].startswith(release[:52]) and one["metadata"]["labels"]["app.kubernetes.io/instance"] == release
        if one["kind"] in ("Service", "StatefulSet"):
            # A label of the pod has the name and a hash of 10.
            assert len(one["metadata"]["name"]) == 52
    ids = dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"))
    pod = the(template(merged(BASE_URL, {"podSecurityContext": ids})), "StatefulSet")["spec"]["template"]["spec"]
    assert not ids.keys() & pod["securityContext"].keys() and pod["securityContext"]["runAsNonRoot"], pod["securityContext"]


def test_a_changed_configuration_rolls_the_pod_and_an_upgrade_is_possible(tmp_path):
    def stateful_set(values, chart=CHART):
        spec = the(template(merged(BASE_URL, values), chart=chart), "StatefulSet")["spec"]
        return spec.pop("template"), spec

    pod, rest = stateful_set({})
    changed, same = stateful_set({"config": {"api": {"page_size": 500}}})
    assert pod != changed and rest == same
    shutil.copytree(CHART, tmp_path / "chart")
    file = tmp_path / "chart/Chart.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | {"version": "9.9.9", "appVersion": "9.9.9"}))
    later, same = stateful_set({"commonLabels": {"team": "x", "app.kubernetes.io/name": "theirs"}}, tmp_path / "chart")
    assert later["spec"]["containers"][0]["image"].endswith(":9.9.9") and rest == same


def rules_of(values):
    found = [one for one in template(merged(ALL_ON, values)) if one["kind"] == "PrometheusRule"]
    return [rule for one in found for group in one["spec"]["groups"] for rule in group["rules"]]


def test_alerts_can_be_left_out_and_changed():
    change = {
        "for": "3h",
        "keep_firing_for": "5h",
        "labels": {"severity": "info", "team": "localization"},
        "annotations": {"summary": "s"},
        "expr": "vector(1)",
    }
    changed = rules_of({"prometheusRule": {"disabled": ["TranslationRegressed"], "overrides": {"TranslationStalled": change}}})
    expected = [rule for rule in rules_of({}) if rule["alert"] != "TranslationRegressed"]
    for rule in expected:
        if rule["alert"] == "TranslationStalled":
            rule |= change | {"labels": rule["labels"] | change["labels"], "annotations": rule["annotations"] | change["annotations"]}
    assert changed == expected


def test_the_alert_of_an_absent_job_comes_with_the_scrape_or_the_alerts():
    assert rules_of({})[0]["alert"] == rules_of({"serviceMonitor": {"enabled": False}})[0]["alert"] == ABSENT
    alone = {"prometheusRule": {"enabled": False}, "namespaceOverride": "here"}
    (rule,) = rules_of(alone)
    assert rule["alert"] == ABSENT
    assert 'up{job="translation-exporter", namespace="here"}' in rule["expr"], rule
    by_label = {"serviceMonitor": {"extraSpec": {"jobLabel": "account"}}, "commonLabels": {"account": "acme"}}
    (rule,) = rules_of(merged(alone, by_label))
    assert 'job="acme"' in rule["expr"], rule
    to_text, computed = {"targetLabel": "job", "replacement": "l10n"}, {"targetLabel": "job", "sourceLabels": ["team"]}
    (rule,) = rules_of(merged(alone, {"serviceMonitor": {"relabelings": [computed, to_text]}}))
    assert 'job="l10n"' in rule["expr"], rule
    # The name of the job is not known here.
    assert rules_of(merged(alone, {"serviceMonitor": {"relabelings": [to_text, computed]}})) == []
    (rule,) = rules_of(merged(alone, {"prometheusRule": {"overrides": {ABSENT: {"expr": "up == 0", "for": "1h"}}}}))
    assert (rule["for"], rule["expr"]) == ("1h", "up == 0"), rule
    assert rules_of(merged(alone, {"prometheusRule": {"disabled": [ABSENT]}})) == []


def test_the_packaged_chart_pins_its_image_and_renders_as_a_dependency(tmp_path):
    charts = tmp_path / "parent/charts"
    charts.mkdir(parents=True)
    subprocess.run([ROOT / "deploy/release/chart.sh", DIGEST, charts], check=True, capture_output=True)
    (archive,) = charts.iterdir()
    values = yaml.safe_load((CHART / "ci/all-on-values.yaml").read_text())
    alone = template(values, chart=archive)
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())

    def image(values):
        pod = the(template(merged(BASE_URL, {"image": values}), chart=archive), "StatefulSet")["spec"]["template"]
        return pod["spec"]["containers"][0]["image"].rpartition("/")[2]

    assert image({}) == f"translation-exporter:{about['appVersion']}@{DIGEST}"
    assert image({"tag": "9.9.9"}) == "translation-exporter:9.9.9"
    dependency = {"name": "translation-exporter", "version": about["version"], "condition": "translation-exporter.enabled"}
    parent = {"apiVersion": "v2", "name": "parent", "version": "1.0.0", "dependencies": [dependency]}
    (tmp_path / "parent/Chart.yaml").write_text(yaml.safe_dump(parent))
    below = template({"global": {"any": 1}, "translation-exporter": values | {"enabled": True}}, chart=tmp_path / "parent")
    key = lambda one: (one["kind"], one["metadata"]["name"])  # noqa: E731
    assert sorted(below, key=key) == sorted(alone, key=key)
    assert template({"translation-exporter": {"enabled": False}}, chart=tmp_path / "parent") == []


def test_the_notes_name_what_is_missing_in_thirty_lines():
    def said(values):
        command = ["helm", "install", "x", CHART, "--dry-run=client", "--namespace", "here", "--values", "-"]
        done = subprocess.run(command, input=json.dumps(merged(BASE_URL, values)), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        notes = done.stdout.partition("\nNOTES:\n")[2].strip()
        assert notes.count("\n") < 30, notes
        return notes

    plain = said({})
    assert "--namespace here create secret generic translation-exporter-api-key --from-file=key=./api-key" in plain, plain
    assert "http://localhost:10018" in plain and "port-forward statefulset/x-translation-exporter 10018" in plain, plain
    assert "once --state.file=" in plain and "Without persistence" not in plain and "no login" not in plain, plain
    web = {"existingSecret": "the-web-secret", "tls": True}
    other = said(merged(ALL_ON, {"persistence": {"enabled": False}, "webConfig": web, "service": {"port": 9100}}))
    assert "Without persistence" in other and "the-web-secret" in other and "https://localhost:9100" in other, other
    # A way in from outside: nobody is asked for a login.
    assert "no login" in other and "no login" in said({"route": {"main": {"enabled": True}}}), other


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("https://a.example.com", 443),
        ("https://a.example.com:8443/api", 8443),
        ("http://a.example.com/v2", 80),
        ("https://[fd00::1]", 443),
        ("https://[fd00::1]:444", 444),
    ],
)
def test_the_network_policy_lets_the_exporter_reach_the_port_of_the_api(url, port):
    values = {"config": {"api": {"base_url": url, "allow_http": True}}, "networkPolicy": {"enabled": True}}
    _, api = the(template(values), "NetworkPolicy")["spec"]["egress"]
    assert api["ports"] == [{"port": port, "protocol": "TCP"}]
