"""The Helm chart: its values, and what it renders."""

import json
import re
import shutil
import subprocess

import pytest
import yaml
from deploy.chart import ALL_ON, BASE_URL, CHART, Refused, merged, nested, template, the
from harness import ROOT

DIGEST = "sha256:" + 64 * "d"
ABSENT = "TranslationExporterAbsent"

# Each value, another one for it, and the kind of object that shows it as this text of JSON.
CHANGED = [
    ("config", {"poll": {"interval": "7m"}}, "ConfigMap", "interval: 7m"),
    ("apiKey.existingSecret", "a-secret", "StatefulSet", '"secretName": "a-secret"'),
    ("apiKey.key", "a-key", "StatefulSet", '{"key": "a-key", "path": "key"}'),
    ("webConfig.existingSecret", "a-web-secret", "StatefulSet", '"secretName": "a-web-secret"'),
    ("webConfig.key", "a-web.yaml", "StatefulSet", "--web.config.file=/var/run/secrets/translation-exporter-web/a-web.yaml"),
    ("webConfig.tls", True, "Service", '"appProtocol": "https"'),
    ("webConfig.clientCertificates", True, "StatefulSet", '"tcpSocket": {"port": "metrics"}'),
    ("image.registry", "registry.example.com", "StatefulSet", '"image": "registry.example.com/a-mirror:9.9@'),
    ("image.repository", "a-mirror", "StatefulSet", "/a-mirror:9.9@"),
    ("image.tag", "9.9", "StatefulSet", ":9.9@"),
    ("image.digest", DIGEST, "StatefulSet", f'@{DIGEST}"'),
    ("image.pullPolicy", "Always", "StatefulSet", '"imagePullPolicy": "Always"'),
    ("imagePullSecrets", [{"name": "a-pull-secret"}], "StatefulSet", '"imagePullSecrets": [{"name": "a-pull-secret"}]'),
    ("nameOverride", "another-name", "Service", '"app.kubernetes.io/name": "another-name"'),
    ("fullnameOverride", "a-full-name", "Service", '"name": "a-full-name"'),
    ("namespaceOverride", "another-namespace", "Service", '"namespace": "another-namespace"'),
    ("commonLabels", {"both": "common", "common": "c"}, "ServiceAccount", '"both": "common", "common": "c"'),
    ("podLabels", {"both": "pod"}, "StatefulSet", '"both": "pod", "common": "c"'),
    ("annotations", {"of-the-set": "a"}, "StatefulSet", '"metadata": {"annotations": {"of-the-set": "a"}'),
    ("podAnnotations", {"of-the-pod": "a"}, "StatefulSet", '"of-the-pod": "a"'),
    ("persistence.size", "3Gi", "StatefulSet", '"storage": "3Gi"'),
    ("persistence.storageClassName", "fast", "StatefulSet", '"storageClassName": "fast"'),
    ("persistence.annotations", {"of-the-claim": "a"}, "StatefulSet", '"annotations": {"of-the-claim": "a"}'),
    ("persistence.existingClaim", "a-claim", "StatefulSet", '"persistentVolumeClaim": {"claimName": "a-claim"}'),
    ("persistence.enabled", False, "StatefulSet", '"emptyDir": {}'),
    ("resources.requests", {"cpu": "11m"}, "StatefulSet", '"cpu": "11m"'),
    ("resources.limits", {"memory": "129Mi"}, "StatefulSet", '"memory": "129Mi"'),
    ("podSecurityContext", {"supplementalGroups": [7]}, "StatefulSet", '"supplementalGroups": [7]'),
    ("securityContext", {"privileged": False}, "StatefulSet", '"privileged": false'),
    ("livenessProbe", {"periodSeconds": 77}, "StatefulSet", '"periodSeconds": 77'),
    ("readinessProbe", {"failureThreshold": 78}, "StatefulSet", '"failureThreshold": 78'),
    ("nodeSelector", {"disk": "ssd"}, "StatefulSet", '"nodeSelector": {"disk": "ssd"}'),
    ("tolerations", [{"operator": "Exists"}], "StatefulSet", '"tolerations": [{"operator": "Exists"}]'),
    ("affinity", {"podAffinity": {}}, "StatefulSet", '"affinity": {"podAffinity": {}}'),
    ("topologySpreadConstraints", [{"maxSkew": 1}], "StatefulSet", '"topologySpreadConstraints": [{"maxSkew": 1}]'),
    ("dnsConfig", {"searches": ["example.com"]}, "StatefulSet", '"dnsConfig": {"searches": ["example.com"]}'),
    ("hostAliases", [{"ip": "192.0.2.1"}], "StatefulSet", '"hostAliases": [{"ip": "192.0.2.1"}]'),
    ("priorityClassName", "important", "StatefulSet", '"priorityClassName": "important"'),
    ("extraArgs", ["--log.level=debug"], "StatefulSet", '"--log.level=debug"]'),
    ("extraEnv", [{"name": "HTTPS_PROXY"}], "StatefulSet", '"env": [{"name": "HTTPS_PROXY"}]'),
    ("extraVolumes", [{"name": "more"}], "StatefulSet", '{"name": "more"}]'),
    ("extraVolumeMounts", [{"name": "more", "mountPath": "/more"}], "StatefulSet", '{"mountPath": "/more", "name": "more"}]'),
    ("extraContainers", [{"name": "proxy", "image": "a-proxy"}], "StatefulSet", '{"image": "a-proxy", "name": "proxy"}]'),
    ("extraInitContainers", [{"name": "first"}], "StatefulSet", '"initContainers": [{"name": "first"}]'),
    ("serviceAccount.name", "an-account", "StatefulSet", '"serviceAccountName": "an-account"'),
    ("serviceAccount.annotations", {"of-the-account": "a"}, "ServiceAccount", '"annotations": {"of-the-account": "a"}'),
    ("serviceAccount.create", False, "StatefulSet", '"serviceAccountName": "default"'),
    ("service.type", "LoadBalancer", "Service", '"type": "LoadBalancer"'),
    ("service.port", 9100, "StatefulSet", '"containerPort": 9100'),
    ("service.annotations", {"of-the-service": "a"}, "Service", '"annotations": {"of-the-service": "a"}'),
    ("service.additionalPorts", [{"name": "proxy", "port": 4180}], "Service", '{"name": "proxy", "port": 4180}]'),
    ("ingress.className", "a-class", "Ingress", '"ingressClassName": "a-class"'),
    ("ingress.annotations", {"of-the-ingress": "a"}, "Ingress", '"annotations": {"of-the-ingress": "a"}'),
    ("ingress.labels", {"ingress": "labelled"}, "Ingress", '"ingress": "labelled"'),
    (
        "ingress.hosts",
        [{"host": "a-host", "paths": [{"path": "/p", "pathType": "Exact"}]}],
        "Ingress",
        '"path": "/p", "pathType": "Exact"}',
    ),
    ("ingress.tls", [{"secretName": "a-certificate"}], "Ingress", '"tls": [{"secretName": "a-certificate"}]'),
    ("ingress.servicePort", 4180, "Ingress", '"port": {"number": 4180}'),
    ("route.main.apiVersion", "gateway.networking.k8s.io/v2", "TLSRoute", '"apiVersion": "gateway.networking.k8s.io/v2"'),
    ("route.main.kind", "TLSRoute", "TLSRoute", '"name": "a-full-name"'),
    ("route.main.annotations", {"of-the-route": "a"}, "TLSRoute", '"annotations": {"of-the-route": "a"}'),
    ("route.main.labels", {"route": "labelled"}, "TLSRoute", '"route": "labelled"'),
    ("route.main.parentRefs", [{"name": "a-gateway"}], "TLSRoute", '"parentRefs": [{"name": "a-gateway"}]'),
    ("route.main.hostnames", ["{{ .Release.Name }}.example.com"], "TLSRoute", '"hostnames": ["translation-exporter.example.com"]'),
    ("route.main.matches", [{"path": {"value": "/p"}}], "TLSRoute", '"matches": [{"path": {"value": "/p"}}]'),
    ("route.main.filters", [{"type": "URLRewrite"}], "TLSRoute", '"filters": [{"type": "URLRewrite"}]'),
    ("route.main.additionalRules", [{"name": "before"}], "TLSRoute", '"rules": [{"name": "before"}, {'),
    ("route.main.servicePort", 4180, "TLSRoute", '"port": 4180'),
    ("route.main.httpsRedirect", True, "HTTPRoute", '"requestRedirect": {"scheme": "https", "statusCode": 301}'),
    ("serviceMonitor.namespace", "monitors", "ServiceMonitor", '"namespaceSelector": {"matchNames": ["another-namespace"]}'),
    ("serviceMonitor.labels", {"release": "stack"}, "ServiceMonitor", '"release": "stack"'),
    ("serviceMonitor.interval", "77s", "ServiceMonitor", '"interval": "77s"'),
    ("serviceMonitor.scrapeTimeout", "33s", "ServiceMonitor", '"scrapeTimeout": "33s"'),
    ("serviceMonitor.scheme", "https", "ServiceMonitor", '"scheme": "https"'),
    ("serviceMonitor.tlsConfig", {"serverName": "a-server"}, "ServiceMonitor", '"tlsConfig": {"serverName": "a-server"}'),
    ("serviceMonitor.basicAuth", {"username": {"name": "a-login"}}, "ServiceMonitor", '"basicAuth": {"username": {"name": "a-login"}}'),
    ("serviceMonitor.honorLabels", True, "ServiceMonitor", '"honorLabels": true'),
    ("serviceMonitor.jobLabel", "common", "ServiceMonitor", '"jobLabel": "common"'),
    ("serviceMonitor.targetLabels", ["common"], "ServiceMonitor", '"targetLabels": ["common"]'),
    ("serviceMonitor.sampleLimit", 7000000, "ServiceMonitor", '"sampleLimit": 7000000'),
    ("serviceMonitor.relabelings", [{"targetLabel": "cluster"}], "ServiceMonitor", '{"targetLabel": "cluster"}]'),
    ("serviceMonitor.metricRelabelings", [{"action": "drop"}], "ServiceMonitor", '"metricRelabelings": [{"action": "drop"}]'),
    ("serviceMonitor.extraEndpoint", {"params": {"account": ["a"]}}, "ServiceMonitor", '"params": {"account": ["a"]}'),
    ("serviceMonitor.extraSpec", {"labelLimit": 77}, "ServiceMonitor", '"labelLimit": 77'),
    ("prometheusRule.namespace", "rules", "PrometheusRule", '"namespace": "rules"'),
    ("prometheusRule.labels", {"role": "alerts"}, "PrometheusRule", '"role": "alerts"'),
    ("prometheusRule.runbookUrl", "https://wiki.example.com", "PrometheusRule", '"https://wiki.example.com#translationstalled"'),
    ("prometheusRule.dashboardUrl", "https://g.example.com", "PrometheusRule", '"https://g.example.com/d/translation-repository?'),
    ("prometheusRule.overrides", {"TranslationStalled": {"for": "77m"}}, "PrometheusRule", '"for": "77m"'),
    ("dashboards.namespace", "dashboards", "ConfigMap", '"namespace": "dashboards"'),
    ("dashboards.labels", {"for_grafana": "1"}, "ConfigMap", '"for_grafana": "1"'),
    ("dashboards.annotations", {"grafana_folder": "F"}, "ConfigMap", '"annotations": {"grafana_folder": "F"}'),
    ("networkPolicy.from", [{"podSelector": {}}], "NetworkPolicy", '"from": [{"podSelector": {}}]'),
    ("networkPolicy.egress", [{"ports": [{"port": 8443}]}], "NetworkPolicy", '"egress": [{"ports": [{"port": 8443}]}]'),
    ("extraObjects", ["{kind: Secret, metadata: {name: 'of-{{ .Release.Name }}'}}"], "Secret", "of-translation-exporter"),
]
# These hide others, so they are changed by themselves.
ALONE = ("persistence.existingClaim", "persistence.enabled", "serviceAccount.create", "serviceAccount.name", "route.main.httpsRedirect")
# Values that other tests change, here or by the files of ci/ in test_kubernetes.py.
ELSEWHERE = (
    "prometheusRule.disabled",
    "route.main.enabled",
    "tests.enabled",
    *(f"{name}.enabled" for name in ALL_ON if name not in ("config", "route")),
)


def test_every_value_shows_in_the_objects():
    """Every value does what it says: another value shows in the objects, and nothing in values.yaml is left out here."""
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    tested = [name for name, *_ in CHANGED] + list(ELSEWHERE)
    assert len(set(tested)) == len(tested)
    for name in leaves(defaults, tested):
        assert name in tested, f"{name} of values.yaml is changed by no test"
    before = template(ALL_ON)
    together = merged(ALL_ON, *(nested(name, value) for name, value, *_ in CHANGED if name not in ALONE))
    after = template(together)
    for name, value, kind, text in CHANGED:
        assert text not in shown(before, kind), f"{name}: {text} without it too"
        objects = template(merged(ALL_ON, nested(name, value))) if name in ALONE else after
        assert text in shown(objects, kind), f"{name}: no {text} in\n{shown(objects, kind)}"
    port = the(after, "StatefulSet")["spec"]["template"]["spec"]["containers"][0]
    assert "--web.listen-address=:9100" in port["args"] and the(after, "Service")["spec"]["ports"][0]["port"] == 9100
    (endpoint,) = the(template(merged(ALL_ON, nested("config.web.telemetry_path", "/t"))), "ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["path"] == "/t", endpoint
    # The way to a proxy must be open too.
    ports = the(after, "NetworkPolicy")["spec"]["ingress"][0]["ports"]
    assert [port["port"] for port in ports] == ["metrics", 4180], ports
    # Several routes, such as one for each listener of a Gateway.
    routes = template(merged(ALL_ON, {"route": {"plain": {"enabled": True, "httpsRedirect": True}}}))
    assert {one["metadata"]["name"] for one in routes if one["kind"] == "HTTPRoute"} == {
        "translation-exporter",
        "translation-exporter-plain",
    }


def leaves(values, known, prefix=""):
    found = {}
    for key, value in values.items():
        name = prefix + key
        inner = isinstance(value, dict) and value and name not in known
        found |= leaves(value, known, f"{name}.") if inner else {name: value}
    return found


def shown(objects, kind):
    return "\n".join(json.dumps(one, sort_keys=True) for one in objects if one["kind"] == kind)


REFUSED = [
    # Values, and what the message must name.
    ({"config": {}}, "config.api.base_url is required"),
    (nested("config.api.key", "secret"), "config.api.key cannot be set"),
    (nested("config.api.key_file", "/a"), "config.api.key_file cannot be set"),
    (nested("config.state.file", "/a"), "config.state.file cannot be set"),
    (nested("config.web.listen_addresses", [":1"]), "config.web.listen_addresses cannot be set"),
    (nested("config.web.config_file", "/a"), "config.web.config_file cannot be set"),
    (nested("config.api", "text"), "/config/api"),
    # By the schema of the configuration.
    (nested("config.api.base_ur", "https://a"), "at '/config/api': additional properties 'base_ur' not allowed"),
    (nested("config.pol", {"interval": "5m"}), "at '/config': additional properties 'pol' not allowed"),
    (nested("config.api.page_size", 5000), "at '/config/api/page_size': maximum"),
    (nested("config.poll.interval", False), "at '/config/poll/interval': got boolean"),
    (nested("config.poll.interval", ""), "at '/config/poll/interval': '' does not match"),
    (nested("config.targets", [{"ratio": 95}]), "at '/config/targets/0/ratio': maximum"),
    (nested("config.targets", [{"language": ["de"]}]), "at '/config/targets/0': additional properties 'language' not allowed"),
    ({"servcie": {"port": 10018}}, "servcie"),
    (nested("service.prot", 10018), "prot"),
    (nested("service.port", "10018"), "/service/port"),
    (nested("service.port", 80), "/service/port"),
    (nested("persistence.enabled", "yes"), "/persistence/enabled"),
    (nested("podAnnotations.scrape", True), "/podAnnotations/scrape"),
    (nested("image.digest", "latest"), "/image/digest"),
    (nested("apiKey.existingSecret", ""), "/apiKey/existingSecret"),
    (nested("readinessProbe.httpGet", {}), "httpGet"),
    (nested("fullnameOverride", "9lives"), "fullnameOverride"),
    (nested("fullnameOverride", "with.dots"), "fullnameOverride"),
    (nested("prometheusRule.overrides.TranslationStalled.form", "1h"), "form"),
    (nested("prometheusRule.thresholds.stalledAfter", "14d"), "thresholds"),
    (merged(ALL_ON, nested("prometheusRule.disabled", ["TranslationStaled"])), "no alert TranslationStaled"),
    (merged(ALL_ON, nested("prometheusRule.overrides.Other.for", "1h")), "no alert Other"),
    (nested("webConfig.tls", True), "webConfig.existingSecret"),
    (nested("ingress.hosts", [{"hst": "a"}]), "/ingress/hosts/0"),
    (nested("route.main.parentRef", []), "parentRef"),
    (nested("route.Main", {}), "'Main' does not match"),
    (nested("ingress.servicePort", 4180), "ingress.servicePort"),
    ({"webConfig": {"existingSecret": "web", "clientCertificates": True}}, "webConfig.tls"),
]


@pytest.mark.parametrize(("values", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_a_wrong_value_is_refused_and_named(values, message):
    with pytest.raises(Refused, match=re.escape(message)):
        template(values if values == {"config": {}} else merged(BASE_URL, values))


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


@pytest.mark.parametrize("file", sorted(CHART.glob("ci/*-values.yaml")), ids=lambda file: file.name)
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


def test_texts_that_yaml_would_misread_stay_text():
    texts = [
        "fullnameOverride",
        "nameOverride",
        "namespaceOverride",
        "apiKey.existingSecret",
        "apiKey.key",
        "webConfig.existingSecret",
        "serviceAccount.name",
        "priorityClassName",
        "persistence.size",
        "persistence.storageClassName",
        "serviceMonitor.namespace",
        "serviceMonitor.interval",
        "serviceMonitor.scrapeTimeout",
        "serviceMonitor.jobLabel",
        "prometheusRule.namespace",
        "dashboards.namespace",
    ]
    for odd in ("on", "null", "2024"):
        set_to = [merged(ALL_ON, *(nested(name, text) for name in texts)) for text in (odd, "ordinary")]
        if odd == "2024":
            # No Service has such a name.
            set_to = [merged(values, {"fullnameOverride": "true"}) for values in set_to]
        rendered = [template(values, release) for values, release in zip(set_to, (odd, "ordinary"), strict=True)]
        assert kinds(rendered[0]) == kinds(rendered[1]), odd
        claims = [template(merged(BASE_URL, {"persistence": {"existingClaim": text}})) for text in (odd, "ordinary")]
        assert kinds(claims[0]) == kinds(claims[1]), odd


def kinds(value):
    """The same with the types of its values."""
    match value:
        case dict():
            return {key: kinds(one) for key, one in value.items()}
        case list():
            return [kinds(one) for one in value]
    return type(value)


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
    by_label = {"serviceMonitor": {"jobLabel": "account"}, "commonLabels": {"account": "acme"}}
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
    assert "check-config --online" in plain and "Without persistence" not in plain and "no login" not in plain, plain
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


def test_helm_test_asks_the_exporter_through_its_service_as_restricted_as_it(program):
    values = merged(
        ALL_ON, {"fullnameOverride": "l10n", "namespaceOverride": "here", "service": {"port": 9100}, "commonLabels": {"team": "x"}}
    )
    plain, all_of_it = template(values), template(values, hooks="")
    hooks = [one for one in all_of_it if "helm.sh/hook" in one["metadata"].get("annotations", {})]
    assert {one["metadata"]["annotations"]["helm.sh/hook"] for one in hooks} == {"test"} and len(all_of_it) == len(plain) + len(hooks)
    assert all(one["metadata"]["namespace"] == "here" and one["metadata"]["labels"]["team"] == "x" for one in hooks), hooks
    pod, policy = the(hooks, "Job")["spec"]["template"], the(hooks, "NetworkPolicy")
    exporter = the(plain, "StatefulSet")["spec"]["template"]
    (asks,), (asked,) = pod["spec"]["containers"], exporter["spec"]["containers"]
    for same in ("image", "imagePullPolicy", "securityContext", "resources"):
        assert asks[same] == asked[same], same
    for same in ("securityContext", "serviceAccountName", "automountServiceAccountToken"):
        assert pod["spec"][same] == exporter["spec"][same], same
    assert pod["spec"]["restartPolicy"] == "Never"
    said = subprocess.run([program, *asks["args"]], capture_output=True, text=True)
    assert said.returncode == 1 and "http://l10n.here:9100/-/healthy does not say" in said.stderr, said
    (service,) = (one for one in plain if one["kind"] == "Service")
    assert service["metadata"]["name"] == "l10n" and not service["spec"]["selector"].items() <= pod["metadata"]["labels"].items(), pod
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= exporter["metadata"]["labels"].items(), policy
    (rule,) = policy["spec"]["ingress"]
    (source,) = rule["from"]
    assert source["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items(), policy
    assert int(policy["metadata"]["annotations"]["helm.sh/hook-weight"]) < 0, "the policy comes first"
    (alone,) = (one for one in template(BASE_URL, hooks="") if "helm.sh/hook" in one["metadata"].get("annotations", {}))
    assert alone["kind"] == "Job", alone
    switched_off = merged(ALL_ON, {"tests": {"enabled": False}})
    assert template(switched_off, hooks="") == template(switched_off)
