#!/usr/bin/env python3
"""Checks what the Helm chart promises: chart.py CHECK HELM CHART [ARGUMENT…]."""

import copy
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

BASE_URL = {"config": {"api": {"base_url": "https://translations.example.com"}}}
ALERTS = {"prometheusRule": {"enabled": True}}


class Refused(Exception):
    """Helm's own message."""


def merged(*layers):
    result = {}
    for layer in layers:
        for key, value in layer.items():
            both = isinstance(value, dict) and isinstance(result.get(key), dict)
            result[key] = merged(result[key], value) if both else copy.deepcopy(value)
    return result


def template(helm, chart, values, release="translation-exporter", namespace="translation-exporter"):
    """The objects of a release, or Refused."""
    command = [helm, "template", release, chart, "--namespace", namespace, "--values", "-"]
    done = subprocess.run(command, input=json.dumps(values), capture_output=True, text=True)
    if done.returncode:
        raise Refused(done.stderr)
    return [one for one in yaml.safe_load_all(done.stdout) if one]


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
    assert {file.name for file in files} >= {f"{name}-values.yaml" for name in ("least", "all-on", "no-persistence", "tls")}, files
    for file in files:
        subprocess.run([helm, "lint", "--strict", "--quiet", chart, "--values", file], check=True)
        objects = template(helm, chart, yaml.safe_load(file.read_text()))
        name = file.name.removesuffix("-values.yaml")
        (pathlib.Path(into) / f"chart-{name}.yaml").write_text(yaml.safe_dump_all(objects))
    print(f"note: {len(files)} files of values")


def same(helm, chart, overlay):
    """The release translation-exporter is, object by object, the overlay prometheus-operator."""
    labels = {"release": "kube-prometheus-stack"}
    ours = named(template(helm, chart, merged(BASE_URL, {
        "serviceMonitor": {"enabled": True, "labels": labels},
        "prometheusRule": {"enabled": True, "labels": labels},
        "dashboards": {"enabled": True, "annotations": {"grafana_folder": "Translation"}},
        "networkPolicy": {"enabled": True},
    })))
    theirs = named([one for one in yaml.safe_load_all(pathlib.Path(overlay).read_text()) if one])
    namespace = theirs.pop(("Namespace", "translation-exporter"))["metadata"]["name"]
    for one in ours.values():
        # What Helm adds.
        assert one["metadata"]["labels"].pop("helm.sh/chart") and one["metadata"]["labels"].pop("app.kubernetes.io/managed-by")
        assert one["metadata"]["namespace"] == namespace
    # A changed configuration rolls the pod: in the overlay by the ConfigMap's name, in the chart by an annotation.
    pod = ours["StatefulSet", "translation-exporter"]["spec"]["template"]
    assert len(pod["metadata"]["annotations"].pop("checksum/config")) == 64
    (hashed,) = (name for kind, name in theirs if kind == "ConfigMap" and name.startswith("translation-exporter-") and "dashboard" not in name)
    theirs = named(json.loads(json.dumps(list(theirs.values())).replace(f'"{hashed}"', '"translation-exporter"')))
    for objects in (ours, theirs):
        data = objects["ConfigMap", "translation-exporter"]["data"]
        data["config.yaml"] = yaml.safe_load(data["config.yaml"])
    assert sorted(ours) == sorted(theirs), f"only one has {set(ours) ^ set(theirs)}"
    for name in ours:
        for side, one in (("chart", ours[name]), ("overlay", theirs[name])):
            pathlib.Path(f"{overlay}.{side}").write_text(yaml.safe_dump(one))
        difference = subprocess.run(["diff", "-u", f"{overlay}.chart", f"{overlay}.overlay"], capture_output=True, text=True)
        assert ours[name] == theirs[name], f"{name}:\n{difference.stdout}"
    print(f"note: {len(ours)} objects, each equal")


REFUSED = [
    # Values, and what the message must name.
    ({"config": {}}, "config.api.base_url is required"),
    (merged(BASE_URL, {"config": {"api": {"key": "secret"}}}), "config.api.key cannot be set"),
    (merged(BASE_URL, {"config": {"api": {"key_file": "/a"}}}), "config.api.key_file cannot be set"),
    (merged(BASE_URL, {"config": {"state": {"file": "/a"}}}), "config.state.file cannot be set"),
    (merged(BASE_URL, {"config": {"web": {"listen_addresses": [":1"]}}}), "config.web.listen_addresses cannot be set"),
    (merged(BASE_URL, {"config": {"web": {"config_file": "/a"}}}), "config.web.config_file cannot be set"),
    (merged(BASE_URL, {"config": {"api": "text"}}), "/config/api"),
    (merged(BASE_URL, {"servcie": {"port": 1}}), "servcie"),
    (merged(BASE_URL, {"service": {"prot": 1}}), "prot"),
    (merged(BASE_URL, {"service": {"port": "10018"}}), "/service/port"),
    (merged(BASE_URL, {"persistence": {"enabled": "yes"}}), "/persistence/enabled"),
    (merged(BASE_URL, {"podAnnotations": {"scrape": True}}), "/podAnnotations/scrape"),
    (merged(BASE_URL, {"image": {"digest": "latest"}}), "/image/digest"),
    (merged(BASE_URL, {"apiKey": {"existingSecret": ""}}), "/apiKey/existingSecret"),
    (merged(BASE_URL, {"prometheusRule": {"overrides": {"TranslationStalled": {"form": "1h"}}}}), "form"),
    (merged(BASE_URL, ALERTS, {"prometheusRule": {"disabled": ["TranslationStaled"]}}), "no alert TranslationStaled"),
    (merged(BASE_URL, ALERTS, {"prometheusRule": {"overrides": {"Other": {"for": "1h"}}}}), "no alert Other"),
    (merged(BASE_URL, {"webConfig": {"tls": True}}), "webConfig.existingSecret"),
    (merged(BASE_URL, {"webConfig": {"existingSecret": "web", "clientCertificates": True}}), "webConfig.tls"),
]


def refuses(helm, chart):
    """Wrong values are refused with a message that names the value; what a parent chart sets is accepted."""
    for values, message in REFUSED:
        try:
            template(helm, chart, values)
        except Refused as refused:
            assert message in str(refused), f"{values}: {refused}"
        else:
            raise AssertionError(f"accepted: {values}")
    template(helm, chart, merged(BASE_URL, {"global": {"imageRegistry": "any"}, "enabled": True}))
    with tempfile.TemporaryDirectory() as folder:
        bare = pathlib.Path(folder) / "chart"
        shutil.copytree(chart, bare, symlinks=True)
        shutil.rmtree(bare / "files")
        template(helm, bare, BASE_URL)
        for section in ("prometheusRule", "dashboards"):
            try:
                template(helm, bare, merged(BASE_URL, {section: {"enabled": True}}))
            except Refused as refused:
                assert section in str(refused) and "published chart" in str(refused), refused
            else:
                raise AssertionError(f"{section} without files was accepted")
    print(f"note: {len(REFUSED) + 2} kinds of wrong values")


def scraped(helm, chart):
    """The scrape uses the scheme of the web configuration and the path of the configuration. Running the pods shows the probes."""
    values = merged(BASE_URL, {
        "config": {"web": {"telemetry_path": "/translations"}}, "serviceMonitor": {"enabled": True},
        "webConfig": {"existingSecret": "web", "tls": True},
    })
    (endpoint,) = the(template(helm, chart, values), "ServiceMonitor")["spec"]["endpoints"]
    assert (endpoint["scheme"], endpoint["path"]) == ("https", "/translations"), endpoint


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
        later = the(template(helm, f"{folder}/chart", merged(BASE_URL, {"commonLabels": {"team": "x"}})), "StatefulSet")["spec"]
        assert later.pop("template")["spec"]["containers"][0]["image"].endswith(":9.9.9")
        assert before == later


def alerts(helm, chart):
    """Alerts can be left out and changed; all else stays as it is, which `same` compares."""
    def rules(values):
        found = [one for one in template(helm, chart, merged(BASE_URL, ALERTS, values)) if one["kind"] == "PrometheusRule"]
        return [rule for one in found for group in one["spec"]["groups"] for rule in group["rules"]]

    every = rules({})
    changed = rules({"prometheusRule": {
        "disabled": ["TranslationRegressed"],
        "overrides": {"TranslationStalled": {"for": "3h", "labels": {"severity": "info", "team": "localization"}}},
    }})
    expected = [rule for rule in every if rule.get("alert") != "TranslationRegressed"]
    for rule in expected:
        if rule.get("alert") == "TranslationStalled":
            rule |= {"for": "3h", "labels": rule["labels"] | {"severity": "info", "team": "localization"}}
    assert changed == expected


def packaged(helm, chart, folder):
    """The archive holds what the links lead to, and renders the same by itself and as a dependency of another chart."""
    shutil.rmtree(folder, ignore_errors=True)
    parent = pathlib.Path(folder) / "parent"
    (parent / "charts").mkdir(parents=True)
    subprocess.run([helm, "package", chart, "--destination", parent / "charts"], check=True, capture_output=True)
    (archive,) = (parent / "charts").iterdir()
    values = yaml.safe_load((pathlib.Path(chart) / "ci/all-on-values.yaml").read_text())
    alone = template(helm, chart, values)
    assert template(helm, archive, values) == alone
    listed = subprocess.run(["tar", "-tf", archive], check=True, capture_output=True, text=True).stdout.split()
    assert "translation-exporter/files/rules/alerts.yaml" in listed, listed
    assert not [name for name in listed if "/ci/" in name], listed
    version = yaml.safe_load((pathlib.Path(chart) / "Chart.yaml").read_text())["version"]
    (parent / "Chart.yaml").write_text(yaml.safe_dump({
        "apiVersion": "v2", "name": "parent", "version": "1.0.0",
        "dependencies": [{"name": "translation-exporter", "version": version, "condition": "translation-exporter.enabled"}],
    }))
    below = template(helm, parent, {"global": {"any": 1}, "translation-exporter": values | {"enabled": True}})
    assert named(below) == named(alone)
    assert template(helm, parent, {"translation-exporter": {"enabled": False}}) == []
    print(f"note: {archive.name}, {archive.stat().st_size} bytes")


def notes(helm, chart):
    """The notes name the Secret that has to be made and what is lost without persistence."""
    def said(values):
        command = [helm, "install", "x", chart, "--dry-run=client", "--namespace", "here", "--values", "-"]
        done = subprocess.run(command, input=json.dumps(merged(BASE_URL, values)), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.partition("\nNOTES:\n")[2]

    plain = said({})
    assert "--namespace here create secret generic translation-exporter-api-key --from-file=key=./api-key" in plain, plain
    assert "http://localhost:10018" in plain and "port-forward statefulset/x-translation-exporter 10018" in plain, plain
    assert "Without persistence" not in plain, plain
    other = said({"persistence": {"enabled": False}, "webConfig": {"existingSecret": "the-web-secret", "tls": True}})
    assert "Without persistence" in other and "the-web-secret" in other and "https://localhost:10018" in other, other


def readme(helm, chart, *files):
    """Every block of values in the READMEs is accepted."""
    count = 0
    for file in files:
        for block in re.findall(r"(?ms)^```yaml\n(.*?)^```", pathlib.Path(file).read_text()):
            if block.startswith("config:"):
                template(helm, chart, yaml.safe_load(block))
                count += 1
    assert count == len(files), f"{count} blocks of values"


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
