#!/usr/bin/env python3
"""Checks what the Helm chart promises: chart.py CHECK HELM CHART [ARGUMENT…]."""

import copy
import functools
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import yaml

BASE_URL = {"config": {"api": {"base_url": "https://translations.example.com"}}}
MONITORED = BASE_URL | {name: {"enabled": True} for name in ("serviceMonitor", "prometheusRule", "dashboards", "networkPolicy")}
ALL_ON = MONITORED | {"ingress": {"enabled": True, "hosts": [{"host": "l10n.example.com"}]}, "route": {"main": {"enabled": True}}}
DIGEST = "sha256:" + 64 * "d"


class Refused(Exception):
    """Helm's own message."""


def merged(*layers):
    result = {}
    for layer in layers:
        for key, value in layer.items():
            both = isinstance(value, dict) and isinstance(result.get(key), dict)
            result[key] = merged(result[key], value) if both else copy.deepcopy(value)
    return result


def nested(name, value):
    """{"a": {"b": value}} for the name a.b."""
    return functools.reduce(lambda inner, part: {part: inner}, reversed(name.split(".")), value)


class UniqueKeys(yaml.CSafeLoader):
    """Two equal keys in one map are an error, as for Kubernetes."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key) for key, _ in node.value]
        assert len(set(keys)) == len(keys), f"a key twice in {keys}"
        return super().construct_mapping(node, deep)


def template(helm, chart, values, release="translation-exporter", namespace="translation-exporter", hooks="--no-hooks"):
    """The objects of a release, or Refused; those of `helm test` only with other hooks."""
    command = [helm, "template", release, chart, "--namespace", namespace, "--values", "-", *hooks.split()]
    done = subprocess.run(command, input=json.dumps(values), capture_output=True, text=True)
    if done.returncode:
        raise Refused(done.stderr)
    return [one for one in yaml.load_all(done.stdout, UniqueKeys) if one]


def named(objects):
    found = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    assert len(found) == len(objects), "two objects share a name"
    return found


def the(objects, kind):
    (found,) = (one for one in objects if one["kind"] == kind)
    return found


def render(helm, chart, into):
    """Each file of ci/ as INTO/chart-NAME.yaml, for the checks of all manifests; helm lints it as well."""
    files = sorted(pathlib.Path(chart).glob("ci/*-values.yaml"))
    assert {file.name for file in files} >= {f"{name}-values.yaml" for name in ("least", "all-on", "no-persistence", "tls", "login")}, files
    for file in files:
        subprocess.run([helm, "lint", "--strict", "--quiet", chart, "--values", file], check=True, capture_output=True)
        objects = template(helm, chart, yaml.safe_load(file.read_text()), hooks="")
        name = file.name.removesuffix("-values.yaml")
        (pathlib.Path(into) / f"chart-{name}.yaml").write_text(yaml.safe_dump_all(objects))
    print(f"note: {len(files)} files of values")


def difference(chart, overlay):
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / side for side in ("chart", "overlay")]
        for file, one in zip(files, (chart, overlay)):
            file.write_text(yaml.safe_dump(one))
        return subprocess.run(["diff", "-u", *files], capture_output=True, text=True).stdout


# Each value, another one for it, and the kind of object that shows it as this text of JSON.
CHANGED = [
    ("config", {"poll": {"interval": "7m"}}, "ConfigMap", "interval: 7m"),
    ("apiKey.existingSecret", "a-secret", "StatefulSet", '"secretName": "a-secret"'),
    ("apiKey.key", "a-key", "StatefulSet", '{"key": "a-key", "path": "key"}'),
    ("webConfig.existingSecret", "a-web-secret", "StatefulSet", '"secretName": "a-web-secret"'),
    ("webConfig.key", "a-web.yaml", "StatefulSet", "--web.config.file=/var/run/secrets/translation-exporter-web/a-web.yaml"),
    ("webConfig.tls", True, "Service", '"appProtocol": "https"'),
    ("webConfig.clientCertificates", True, "StatefulSet", '"tcpSocket": {"port": "metrics"}'),
    ("image.repository", "registry.example.com/a-mirror", "StatefulSet", '"image": "registry.example.com/a-mirror:9.9@'),
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
    ("service.port", 9100, "StatefulSet", '"containerPort": 9100'),
    ("service.annotations", {"of-the-service": "a"}, "Service", '"annotations": {"of-the-service": "a"}'),
    ("service.additionalPorts", [{"name": "proxy", "port": 4180}], "Service", '{"name": "proxy", "port": 4180}]'),
    ("ingress.className", "a-class", "Ingress", '"ingressClassName": "a-class"'),
    ("ingress.annotations", {"of-the-ingress": "a"}, "Ingress", '"annotations": {"of-the-ingress": "a"}'),
    ("ingress.labels", {"ingress": "labelled"}, "Ingress", '"ingress": "labelled"'),
    ("ingress.hosts", [{"host": "a-host", "paths": [{"path": "/p", "pathType": "Exact"}]}], "Ingress", '"path": "/p", "pathType": "Exact"}'),
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
    ("prometheusRule.namespace", "rules", "PrometheusRule", '"namespace": "rules"'),
    ("prometheusRule.labels", {"role": "alerts"}, "PrometheusRule", '"role": "alerts"'),
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
# Values that other checks change: `alerts`, `tested`, and `render` with ci/all-on-values.yaml and ci/least-values.yaml.
ELSEWHERE = (
    "prometheusRule.disabled", "route.main.enabled", "tests.enabled", *(f"{name}.enabled" for name in ALL_ON if name not in ("config", "route")),
)


def changes(helm, chart):
    """Every value does what it says: another value shows in the objects, and nothing in values.yaml is left out here."""
    defaults = yaml.safe_load((pathlib.Path(chart) / "values.yaml").read_text())
    tested = [name for name, *_ in CHANGED] + list(ELSEWHERE)
    assert len(set(tested)) == len(tested)
    for name in leaves(defaults, tested):
        assert name in tested, f"{name} of values.yaml is changed by no test"
    before = template(helm, chart, ALL_ON)
    together = merged(ALL_ON, *(nested(name, value) for name, value, *_ in CHANGED if name not in ALONE))
    after = template(helm, chart, together)
    for name, value, kind, text in CHANGED:
        assert text not in shown(before, kind), f"{name}: {text} without it too"
        objects = template(helm, chart, merged(ALL_ON, nested(name, value))) if name in ALONE else after
        assert text in shown(objects, kind), f"{name}: no {text} in\n{shown(objects, kind)}"
    port = the(after, "StatefulSet")["spec"]["template"]["spec"]["containers"][0]
    assert "--web.listen-address=:9100" in port["args"] and the(after, "Service")["spec"]["ports"][0]["port"] == 9100
    (endpoint,) = the(template(helm, chart, merged(ALL_ON, nested("config.web.telemetry_path", "/t"))), "ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["path"] == "/t", endpoint
    # The way to a proxy must be open too.
    ports = the(after, "NetworkPolicy")["spec"]["ingress"][0]["ports"]
    assert [port["port"] for port in ports] == ["metrics", 4180], ports
    # Several routes, such as one for each listener of a Gateway.
    routes = template(helm, chart, merged(ALL_ON, {"route": {"plain": {"enabled": True, "httpsRedirect": True}}}))
    assert {one["metadata"]["name"] for one in routes if one["kind"] == "HTTPRoute"} == {"translation-exporter", "translation-exporter-plain"}
    print(f"note: {len(CHANGED)} values")


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


def refused(helm, chart, values, *messages):
    try:
        template(helm, chart, values)
    except Refused as refusal:
        for message in messages:
            assert message in str(refusal), f"{values}: {refusal}"
    else:
        raise AssertionError(f"accepted: {values}")


def refuses(helm, chart):
    """Wrong values are refused with a message that names the value; what a parent chart sets is accepted."""
    for values, message in REFUSED:
        refused(helm, chart, values if values == {"config": {}} else merged(BASE_URL, values), message)
    template(helm, chart, merged(BASE_URL, {"global": {"imageRegistry": "any"}, "enabled": True}))
    # Null is not set, as in the file.
    unset = {"api": {"page_size": None, "ca_file": ""}, "poll": None, "filter": {"include": []}, "targets": []}
    template(helm, chart, merged(BASE_URL, {"config": unset}))
    with tempfile.TemporaryDirectory() as folder:
        bare = pathlib.Path(folder) / "chart"
        shutil.copytree(chart, bare, symlinks=True)
        shutil.rmtree(bare / "files")
        template(helm, bare, BASE_URL)
        for section in ("prometheusRule", "dashboards"):
            refused(helm, bare, merged(BASE_URL, {section: {"enabled": True}}), section, "published chart")
    print(f"note: {len(REFUSED) + 2} kinds of wrong values")


# Without these, nothing sensible could be rendered. A value that is new since the last release must not be among them.
NEEDED = {
    "config", "apiKey", "apiKey.existingSecret", "apiKey.key", "webConfig", "webConfig.key", "webConfig.tls", "webConfig.clientCertificates",
    "image", "image.repository", "persistence", "persistence.enabled", "persistence.size", "serviceAccount", "serviceAccount.create",
    "service", "service.port", "serviceMonitor", "prometheusRule", "dashboards", "networkPolicy", "networkPolicy.egress",
}


def lacks(helm, chart):
    """A value that is null, or unknown to the older chart whose values `helm upgrade --reuse-values` keeps, is either not needed or missed by name."""
    defaults = yaml.safe_load((pathlib.Path(chart) / "values.yaml").read_text())
    needed = set()
    for name in [*defaults, *leaves(defaults, ())]:
        try:
            template(helm, chart, merged(ALL_ON, nested(name, None)))
        except Refused as refusal:
            missed = "config.api.base_url is required" if name == "config" else f"missing property '{name.rpartition('.')[2]}'"
            assert missed in str(refusal), f"{name}: {refusal}"
            needed.add(name)
    assert needed == NEEDED, needed ^ NEEDED
    with tempfile.TemporaryDirectory() as folder:
        # The links lead out of the chart.
        shutil.copytree(chart, f"{folder}/chart")
        old = merged(*(nested(name, value) for name, value in leaves(defaults, ()).items() if name in NEEDED))
        (pathlib.Path(folder) / "chart/values.yaml").write_text(yaml.safe_dump(old))
        (container,) = the(template(helm, f"{folder}/chart", ALL_ON), "StatefulSet")["spec"]["template"]["spec"]["containers"]
        # Kubernetes would wait for one second, which is too short on a busy node.
        assert container["livenessProbe"]["timeoutSeconds"] == container["readinessProbe"]["timeoutSeconds"] == 5, container
    print(f"note: {len(needed)} values are needed")


def names(helm, chart):
    """A release name of any length gives valid names, which begin with it; the cluster may choose the user."""
    release = "r" * 53
    for one in template(helm, chart, ALL_ON, release):
        assert one["metadata"]["name"].startswith(release[:52]) and one["metadata"]["labels"]["app.kubernetes.io/instance"] == release
        if one["kind"] in ("Service", "StatefulSet"):
            # A label of the pod has the name and a hash of 10.
            assert len(one["metadata"]["name"]) == 52
    ids = dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"))
    pod = the(template(helm, chart, merged(BASE_URL, {"podSecurityContext": ids})), "StatefulSet")["spec"]["template"]["spec"]
    assert not ids.keys() & pod["securityContext"].keys() and pod["securityContext"]["runAsNonRoot"], pod["securityContext"]


    # What YAML would take for a number, a truth or nothing stays text.
    texts = [
        "fullnameOverride", "nameOverride", "namespaceOverride", "apiKey.existingSecret", "apiKey.key", "webConfig.existingSecret",
        "serviceAccount.name", "priorityClassName", "persistence.size", "persistence.storageClassName", "serviceMonitor.namespace",
        "serviceMonitor.interval", "serviceMonitor.scrapeTimeout", "serviceMonitor.jobLabel", "prometheusRule.namespace",
        "dashboards.namespace",
    ]
    for odd in ("on", "null", "2024"):
        set_to = [merged(ALL_ON, *(nested(name, text) for name in texts)) for text in (odd, "ordinary")]
        if odd == "2024":
            # No Service has such a name.
            set_to = [merged(values, {"fullnameOverride": "true"}) for values in set_to]
        rendered = [template(helm, chart, values, release) for values, release in zip(set_to, (odd, "ordinary"))]
        assert kinds(rendered[0]) == kinds(rendered[1]), f"{odd}:\n{difference(*rendered)}"
        claims = [template(helm, chart, merged(BASE_URL, {"persistence": {"existingClaim": text}})) for text in (odd, "ordinary")]
        assert kinds(claims[0]) == kinds(claims[1]), odd


def kinds(value):
    """The same with the types of its values."""
    match value:
        case dict():
            return {key: kinds(one) for key, one in value.items()}
        case list():
            return [kinds(one) for one in value]
    return type(value)


def rolls(helm, chart):
    """A changed configuration rolls the pod, and an upgrade changes nothing that a StatefulSet cannot change."""
    before = the(template(helm, chart, BASE_URL), "StatefulSet")["spec"]
    after = the(template(helm, chart, merged(BASE_URL, {"config": {"api": {"page_size": 500}}})), "StatefulSet")["spec"]
    assert before.pop("template") != after.pop("template")
    assert before == after
    with tempfile.TemporaryDirectory() as folder:
        # The links lead out of the chart.
        shutil.copytree(chart, f"{folder}/chart")
        file = pathlib.Path(folder) / "chart/Chart.yaml"
        file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | {"version": "9.9.9", "appVersion": "9.9.9"}))
        labels = {"commonLabels": {"team": "x", "app.kubernetes.io/name": "theirs"}}
        later = the(template(helm, f"{folder}/chart", merged(BASE_URL, labels)), "StatefulSet")["spec"]
        assert later.pop("template")["spec"]["containers"][0]["image"].endswith(":9.9.9")
        assert before == later


def rules_of(helm, chart, values):
    found = [one for one in template(helm, chart, merged(ALL_ON, values)) if one["kind"] == "PrometheusRule"]
    return [rule for one in found for group in one["spec"]["groups"] for rule in group["rules"]]


def alerts(helm, chart):
    """Alerts can be left out and changed, all else stays; the alert of an absent job comes with the scrape."""
    change = {"for": "3h", "labels": {"severity": "info", "team": "localization"}, "annotations": {"summary": "s"}, "expr": "vector(1)"}
    changed = rules_of(helm, chart, {"prometheusRule": {"disabled": ["TranslationRegressed"], "overrides": {"TranslationStalled": change}}})
    expected = [rule for rule in rules_of(helm, chart, {}) if rule["alert"] != "TranslationRegressed"]
    for rule in expected:
        if rule["alert"] == "TranslationStalled":
            rule |= change | {"labels": rule["labels"] | change["labels"], "annotations": rule["annotations"] | change["annotations"]}
    assert changed == expected

    # One alert, whichever of the two rules sees that the exporter is gone.
    absent, general = (rule for rule in expected if rule["alert"] == "TranslationExporterDown")
    assert general["labels"] == absent["labels"], (general["labels"], absent["labels"])

    alone = {"prometheusRule": {"enabled": False}, "namespaceOverride": "here"}
    (rule,) = rules_of(helm, chart, alone)
    assert rule["alert"] == "TranslationExporterDown"
    misses_its_job([rule])
    by_label = {"serviceMonitor": {"jobLabel": "account"}, "commonLabels": {"account": "acme"}}
    (rule,) = rules_of(helm, chart, merged(alone, by_label))
    assert 'job="acme"' in rule["expr"], rule
    to_text, computed = {"targetLabel": "job", "replacement": "l10n"}, {"targetLabel": "job", "sourceLabels": ["team"]}
    (rule,) = rules_of(helm, chart, merged(alone, {"serviceMonitor": {"relabelings": [computed, to_text]}}))
    assert 'job="l10n"' in rule["expr"], rule
    # What the job will be is not known here.
    assert rules_of(helm, chart, merged(alone, {"serviceMonitor": {"relabelings": [to_text, computed]}})) == []
    (rule,) = rules_of(helm, chart, merged(alone, {"prometheusRule": {"overrides": {"TranslationExporterDown": {"expr": "up == 0", "for": "1h"}}}}))
    assert rule["for"] == "1h" and "absent" in rule["expr"], rule
    assert rules_of(helm, chart, merged(alone, {"prometheusRule": {"disabled": ["TranslationExporterDown"]}})) == []


def misses_its_job(rules):
    """Of two namespaces with one name of a job, one gets its target late, within the patience of the alert, and loses it later. It
    comes back with a target that cannot be scraped, as from an exporter that crashes."""
    (rule,) = rules
    down = {"exp_labels": rule["labels"] | {"job": "translation-exporter", "namespace": "here"}, "exp_annotations": rule["annotations"]}
    series = [
        {"series": 'up{job="translation-exporter", namespace="there"}', "values": "1x180"},
        {"series": 'up{job="translation-exporter", namespace="here"}', "values": "_x10 1x50 stale _x60 0x60"},
    ]
    expected = [{"eval_time": time, "alertname": "TranslationExporterDown", "exp_alerts": alerts} for time, alerts in (("59m", []), ("90m", [down]), ("160m", [down]))]
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "absent", "rules": rules}]}))
        tests = {"rule_files": ["rules.yaml"], "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": expected}]}
        (pathlib.Path(folder) / "tests.yaml").write_text(yaml.safe_dump(tests))
        subprocess.run(["promtool", "test", "rules", "tests.yaml"], cwd=folder, check=True)


def packaged(helm, chart, folder, package):
    """A release's archive holds what the links lead to, pins its image, and renders the same as a dependency of another chart."""
    shutil.rmtree(folder, ignore_errors=True)
    parent = pathlib.Path(folder) / "parent"
    (parent / "charts").mkdir(parents=True)
    subprocess.run([package, DIGEST, parent / "charts"], check=True, capture_output=True, env={"HELM": helm, "PATH": "/usr/bin:/bin"})
    (archive,) = (parent / "charts").iterdir()
    values = yaml.safe_load((pathlib.Path(chart) / "ci/all-on-values.yaml").read_text())
    alone = template(helm, archive, values)
    assert alone == template(helm, chart, values)
    listed = subprocess.run(["tar", "-tf", archive], check=True, capture_output=True, text=True).stdout.split()
    assert not [name for name in listed if "/ci/" in name], listed
    about = yaml.safe_load((pathlib.Path(chart) / "Chart.yaml").read_text())
    on_hub(helm, archive, about)

    def image(values):
        found = the(template(helm, archive, merged(BASE_URL, {"image": values})), "StatefulSet")["spec"]["template"]["spec"]["containers"][0]["image"]
        return found.rpartition("/")[2]

    assert image({}) == f"translation-exporter:{about['appVersion']}@{DIGEST}"
    assert image({"tag": "9.9.9"}) == "translation-exporter:9.9.9"
    (parent / "Chart.yaml").write_text(yaml.safe_dump({
        "apiVersion": "v2", "name": "parent", "version": "1.0.0",
        "dependencies": [{"name": "translation-exporter", "version": about["version"], "condition": "translation-exporter.enabled"}],
    }))
    below = template(helm, parent, {"global": {"any": 1}, "translation-exporter": values | {"enabled": True}})
    assert named(below) == named(alone)
    assert template(helm, parent, {"translation-exporter": {"enabled": False}}) == []
    print(f"note: {archive.name}, {archive.stat().st_size} bytes")


def on_hub(helm, archive, about):
    """What Artifact Hub shows of a package, in the form that it documents."""
    done = subprocess.run([helm, "show", "chart", archive], check=True, capture_output=True, text=True)
    shown = yaml.safe_load(done.stdout)
    assert shown["icon"].endswith(".svg") and shown["maintainers"] and shown["home"] and shown["keywords"], shown
    hub = {name.removeprefix("artifacthub.io/"): text for name, text in shown["annotations"].items()}
    assert hub["license"] == "Apache-2.0" and hub["category"] == "monitoring-logging", hub
    images, links, screenshots = (yaml.safe_load(hub[name]) for name in ("images", "links", "screenshots"))
    assert [one["image"].rpartition(":")[2] for one in images] == [about["appVersion"]], images
    assert all(one.keys() == {"name", "url"} for one in links) and all(one.keys() == {"title", "url"} for one in screenshots), (links, screenshots)


def notes(helm, chart):
    """The notes name the Secret that has to be made, what to do about a pod that stays Pending, and what is lost without persistence."""
    def said(values):
        command = [helm, "install", "x", chart, "--dry-run=client", "--namespace", "here", "--values", "-"]
        done = subprocess.run(command, input=json.dumps(merged(BASE_URL, values)), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.partition("\nNOTES:\n")[2]

    plain = said({})
    assert "--namespace here create secret generic translation-exporter-api-key --from-file=key=./api-key" in plain, plain
    assert "http://localhost:10018" in plain and "port-forward statefulset/x-translation-exporter 10018" in plain, plain
    assert "default StorageClass" in plain and "out-of-service" in plain and "Without persistence" not in plain, plain
    other = said({"persistence": {"enabled": False}, "webConfig": {"existingSecret": "the-web-secret", "tls": True}, "service": {"port": 9100}})
    assert "Without persistence" in other and "the-web-secret" in other and "https://localhost:9100" in other, other
    # A way in from outside: where the page is, and that nobody is asked for a login.
    assert "no login" not in plain, plain
    ingress = {"enabled": True, "hosts": [{"host": "l10n.example.com", "paths": [{"path": "/l10n/"}]}], "tls": [{"hosts": ["l10n.example.com"]}]}
    open_page = said({"ingress": ingress, "networkPolicy": {"enabled": True}})
    assert "https://l10n.example.com/l10n/" in open_page and "no login" in open_page and "networkPolicy.from" in open_page, open_page
    routed = said({"route": {"main": {"enabled": True, "hostnames": ["l10n.example.org"]}}})
    assert "l10n.example.org" in routed and "no login" in routed, routed
    behind = said({"ingress": ingress | {"servicePort": 4180}, "service": {"additionalPorts": [{"name": "proxy", "port": 4180}]}})
    assert "no login" not in behind and "port 4180" in behind, behind
    encrypted = said({"ingress": ingress, "webConfig": {"existingSecret": "web", "tls": True}})
    assert "speak HTTPS" in encrypted, encrypted


def tested(helm, chart, program):
    """`helm test` runs the exporter's image as restricted as the exporter, under labels that its Service does not select; the program
    understands its arguments, and a network policy lets it in."""
    values = merged(ALL_ON, {"fullnameOverride": "l10n", "namespaceOverride": "here", "service": {"port": 9100}, "commonLabels": {"team": "x"}})
    plain, all_of_it = template(helm, chart, values), template(helm, chart, values, hooks="")
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
    assert said.returncode == 1 and "the exporter at l10n.here:9100 is not healthy" in said.stderr, said
    (service,) = (one for one in plain if one["kind"] == "Service")
    assert service["metadata"]["name"] == "l10n" and not service["spec"]["selector"].items() <= pod["metadata"]["labels"].items(), pod
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= exporter["metadata"]["labels"].items(), policy
    (rule,) = policy["spec"]["ingress"]
    (source,) = rule["from"]
    assert source["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items(), policy
    assert int(policy["metadata"]["annotations"]["helm.sh/hook-weight"]) < 0, "the policy comes first"
    (alone,) = (one for one in template(helm, chart, BASE_URL, hooks="") if "helm.sh/hook" in one["metadata"].get("annotations", {}))
    assert alone["kind"] == "Job", alone
    switched_off = merged(ALL_ON, {"tests": {"enabled": False}})
    assert template(helm, chart, switched_off, hooks="") == template(helm, chart, switched_off)


def digest(helm, chart):
    """The second container of the digest's CronJob posts the Markdown as one JSON text, whatever is in it, once it is there."""
    values = yaml.safe_load((pathlib.Path(chart) / "ci/digest-values.yaml").read_text())
    objects = template(helm, chart, values)
    job = the(objects, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]
    selector = the(objects, "Service")["spec"]["selector"].items()
    assert not selector <= job["metadata"]["labels"].items(), "the Service selects the digest's pod"
    read, send = job["spec"]["containers"]
    exporter = the(objects, "StatefulSet")["spec"]["template"]["spec"]["containers"][0]
    assert read["image"] == exporter["image"] and set(read["args"]) & set(exporter["args"]) == {
        "--config.file=/etc/translation-exporter/config.yaml", "--api.key-file=/var/run/secrets/translation-exporter/key",
    }, read
    start = 'A "quote", a \\ and a `tick`\n\n| a\tb | ü |\n|---|---|\n'
    due = "\n### Due\n\n- **2026-12-01** (8 days left, due soon): 0 of 1 ready; de 25% of a \\| b\n"
    markdown = start + 100 * "| c | d |\n" + due
    received = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

    with tempfile.TemporaryDirectory() as folder, http.server.HTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name in ("digest", "tmp", "webhook"):
            (pathlib.Path(folder) / name).mkdir()
        (pathlib.Path(folder) / "webhook/url").write_text(f"http://127.0.0.1:{server.server_address[1]}/hook")
        script = re.sub(r"/(?:run/)?(digest|tmp|webhook)/", rf"{folder}/\1/", send["args"][0])
        process = subprocess.Popen([*send["command"], script])
        assert process.poll() is None, "it did not wait for the file"
        (pathlib.Path(folder) / "digest/new").write_text(markdown)
        (pathlib.Path(folder) / "digest/new").rename(f"{folder}/digest/translations.md")
        assert process.wait(60) == 0
        server.shutdown()
    shown = start.replace("\t", " ") + 50 * "| c | d |\n" + "\nRepositories left out: 50.\n" + due
    assert received == [{"text": shown}], received


def readme(helm, chart):
    """Every block of values in the chart's README is accepted."""
    blocks = re.findall(r"(?ms)^```yaml\n(.*?)^```", (pathlib.Path(chart) / "README.md").read_text())
    values = [block for block in blocks if not block.startswith("apiVersion:")]
    assert values
    for block in values:
        template(helm, chart, merged(BASE_URL, yaml.safe_load(block)))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
