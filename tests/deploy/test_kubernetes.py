"""The rendered manifests: the overlays, and the chart with each set of values."""

import json
import os
import re
import subprocess

import pytest
import yaml
from deploy.chart import KUBERNETES, kustomize, of_kind
from harness import ROOT

OF_OTHERS = {("ConfigMap", "targets"), ("ConfigMap", "roots")}
FOREIGN = ("monitoring.coreos.com/", "gateway.networking.k8s.io/")


def exporter(spec):
    """The exporter's own container of a pod."""
    (container,) = (one for one in spec["containers"] if one["name"] == "exporter")
    return container


def test_the_manifests_are_what_generate_renders(tmp_path):
    subprocess.run([KUBERNETES / "generate.sh", tmp_path], check=True)
    made = [file.relative_to(tmp_path) for file in tmp_path.rglob("*.yaml")]
    assert made
    for file in made:
        assert (KUBERNETES / file).read_text() == (tmp_path / file).read_text(), "run tests/generate.sh"


def test_kubernetes_accepts_every_object(renderings, tmp_path):
    """By the schemas of the oldest and the newest version that there are, from the oldest that the chart allows."""
    from kubernetes_validate import utils

    versions = sorted({int(one.split(".")[1]) for one in utils.all_versions()} - set(range(29)))
    for name, objects in renderings.items():
        native = [one for one in objects if not one["apiVersion"].startswith(FOREIGN)]
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump_all(native))
    for version in (versions[0], versions[-1]):
        command = ["kubernetes-validate", "--strict", "--quiet", "-k", f"1.{version}", *tmp_path.iterdir()]
        subprocess.run(command, check=True)


VALIDATE = """
import { HTTPRoute } from "@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute";
import { PrometheusRule } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor";
import { readFileSync } from "node:fs";
const kinds = { HTTPRoute, PrometheusRule, ServiceMonitor };
for (const object of JSON.parse(readFileSync(0))) new kinds[object.kind](object).validate();
"""


def test_the_schemas_of_custom_resources_accept_their_objects(renderings, npm, tmp_path):
    (tmp_path / "node_modules").symlink_to(npm)
    (tmp_path / "validate.mjs").write_text(VALIDATE)
    objects = [one for objects in renderings.values() for one in objects if one["apiVersion"].startswith(FOREIGN)]
    assert {one["kind"] for one in objects} == {"HTTPRoute", "PrometheusRule", "ServiceMonitor"}
    subprocess.run(["node", tmp_path / "validate.mjs"], input=json.dumps(objects), text=True, check=True)


def test_pods_are_single_restricted_and_read_the_key_from_a_file(renderings):
    for name, objects in renderings.items():
        assert not of_kind(objects, "Secret"), f"{name}: keys do not belong in manifests"
        for one in of_kind(objects, "Namespace"):
            assert one["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted", name
        for one in of_kind(objects, "StatefulSet"):
            spec = one["spec"]["template"]["spec"]
            container = exporter(spec)
            assert one["spec"]["replicas"] == 1 and spec["terminationGracePeriodSeconds"] > 5, name
            assert not [variable for variable in container.get("env", []) if "KEY" in variable["name"]], name
            confined = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
            assert confined.items() <= container["securityContext"].items() and spec["securityContext"]["runAsNonRoot"], name
            assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
            assert not spec["automountServiceAccountToken"] and "memory" in container["resources"]["limits"], name


def test_every_reference_leads_somewhere(renderings):
    for name, objects in renderings.items():
        present = {(one["kind"], one["metadata"]["name"]) for one in objects}
        assert len(present) == len(objects), f"{name}: two objects share a name"
        (one,) = of_kind(objects, "StatefulSet")
        spec, labels = one["spec"]["template"]["spec"], one["spec"]["template"]["metadata"]["labels"].items()
        assert ("Service", one["spec"]["serviceName"]) in present, name
        assert all(account["metadata"]["name"] == spec["serviceAccountName"] for account in of_kind(objects, "ServiceAccount")), name
        configs = {("ConfigMap", volume["configMap"]["name"]) for volume in spec.get("volumes", []) if "configMap" in volume}
        assert configs <= present | OF_OTHERS, name
        (service,) = of_kind(objects, "Service")
        assert service["spec"]["selector"].items() <= labels and service["spec"]["publishNotReadyAddresses"], name
        # Headless: clients connect to the pod's port itself.
        ports = {port["containerPort"] for container in spec["containers"] for port in container["ports"]}
        assert {port["port"] for port in service["spec"]["ports"]} == ports, name
        for one in of_kind(objects, "Ingress"):
            ways = [path["backend"]["service"] for rule in one["spec"]["rules"] for path in rule["http"]["paths"]]
            assert ways and all(way["name"] == service["metadata"]["name"] and way["port"]["number"] in ports for way in ways), name
        for one in of_kind(objects, "HTTPRoute"):
            ways = [way for rule in one["spec"]["rules"] for way in rule.get("backendRefs", [])]
            assert all(way["name"] == service["metadata"]["name"] and way["port"] in ports for way in ways), name
        for monitor in of_kind(objects, "ServiceMonitor"):
            assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items(), name
            (endpoint,) = monitor["spec"]["endpoints"]
            files = [one["data"] for one in of_kind(objects, "ConfigMap") if "config.yaml" in one.get("data", {})]
            config = yaml.safe_load(files[0]["config.yaml"]) if files else {}
            assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}, name
            assert endpoint["path"] == config.get("web", {}).get("telemetry_path", "/metrics"), name
        for policy in of_kind(objects, "NetworkPolicy"):
            assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels, name
            assert len(policy["spec"]["ingress"][0]["ports"]) == len(ports), f"{name}: the way to a proxy must be open too"


@pytest.mark.parametrize("name", ["prometheus-operator", "chart-all-on"])
def test_every_dashboard_arrives_unchanged(renderings, name):
    files = {file.name: file.read_text() for file in (ROOT / "grafana/dashboards").glob("*.json")}
    found = [one for one in of_kind(renderings[name], "ConfigMap") if one["metadata"]["labels"].get("grafana_dashboard") == "1"]
    assert {file: text for one in found for file, text in one["data"].items()} == files
    # kubectl apply keeps the object in an annotation, which holds 256 KiB.
    assert all(len(json.dumps(one)) < 250_000 for one in found)


def test_the_overlays_of_the_readme_need_no_edit_of_this_tree(tmp_path):
    blocks = re.findall(r"(?ms)^```yaml\n(.*?)^```", (KUBERNETES / "README.md").read_text())
    overlay, config, more, less = blocks
    own, second = tmp_path / "own", tmp_path / "second"
    for folder, namespace, added in ((own, "l10n", more), (second, "globex", less)):
        folder.mkdir()
        # kustomize takes no absolute path.
        base = os.path.relpath(KUBERNETES / "overlays", folder)
        text = re.sub(r"https://github.com/[^/]+/[^/]+//deploy/kubernetes/overlays/(\S+)[?]ref=v\S+", rf"{base}/\1", overlay)
        (folder / "kustomization.yaml").write_text(text.replace("namespace: translation-exporter\n", f"namespace: {namespace}\n") + added)
        (folder / "config.yaml").write_text(config + "  page_size: 500\n")

    objects = kustomize(own)
    (stateful_set,) = of_kind(objects, "StatefulSet")
    spec = stateful_set["spec"]["template"]["spec"]
    assert spec["containers"][0]["image"].startswith("registry.example.com/translation-exporter:")
    (name,) = (volume["configMap"]["name"] for volume in spec["volumes"] if volume["name"] == "config")
    (changed,) = (one for one in of_kind(objects, "ConfigMap") if one["metadata"]["name"] == name)
    assert "page_size: 500" in changed["data"]["config.yaml"] and re.fullmatch("translation-exporter-[a-z0-9]{10}", name)
    rules = of_kind(objects, "PrometheusRule")
    assert len(rules) == 2 and all(one["metadata"]["labels"]["release"] == "monitoring-stack" for one in rules)
    (absent,) = (one for one in rules if one["metadata"]["name"].endswith("-absent"))
    assert 'namespace="l10n"' in absent["spec"]["groups"][0]["rules"][0]["expr"]
    (policy,) = of_kind(objects, "NetworkPolicy")
    assert "observability" in str(policy["spec"]["ingress"]) and policy["spec"]["egress"][1]["ports"] == [{"port": 8443, "protocol": "TCP"}]

    seconds = kustomize(second)
    assert {one["metadata"].get("namespace") for one in seconds} == {None, "globex"}
    assert len(of_kind(seconds, "ConfigMap")) == len(of_kind(seconds, "PrometheusRule")) == len(of_kind(seconds, "ServiceMonitor")) == 1
