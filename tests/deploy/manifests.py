#!/usr/bin/env python3
"""Checks what the rendered manifests promise: manifests.py CHECK FOLDER [ARGUMENT…]. FOLDER holds NAME.yaml of each rendering."""

import json
import pathlib
import re
import sys

import yaml


def renderings(folder):
    return {file.stem: [one for one in yaml.safe_load_all(file.read_text()) if one] for file in sorted(pathlib.Path(folder).glob("*.yaml"))}


def of_kind(objects, kind):
    return [one for one in objects if one["kind"] == kind]


def exporter(spec):
    """The exporter's own container of a pod."""
    (container,) = (one for one in spec["containers"] if one["name"] == "exporter")
    return container


def kept(folder):
    """What the project promises of its pods that neither checkov nor running them shows."""
    for name, objects in renderings(folder).items():
        for one in of_kind(objects, "StatefulSet"):
            spec = one["spec"]["template"]["spec"]
            assert one["spec"]["replicas"] == 1, name
            assert spec["terminationGracePeriodSeconds"] > 5, name
            variables = [variable["name"] for variable in exporter(spec).get("env", [])]
            assert not [variable for variable in variables if "KEY" in variable], f"{name}: the key is a file, never a variable"
        assert not of_kind(objects, "Secret"), f"{name}: keys do not belong in manifests"
        for one in of_kind(objects, "Namespace"):
            assert one["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted", name


def wired(folder):
    """References lead somewhere: Services, monitors and policies to pods, pods to accounts, Services and configuration."""
    for name, objects in renderings(folder).items():
        present = {(one["kind"], one["metadata"]["name"]) for one in objects}
        assert len(present) == len(objects), f"{name}: two objects share a name"
        (one,) = of_kind(objects, "StatefulSet")
        spec, labels = one["spec"]["template"]["spec"], one["spec"]["template"]["metadata"]["labels"].items()
        assert ("ServiceAccount", spec["serviceAccountName"]) in present, name
        assert ("Service", one["spec"]["serviceName"]) in present, name
        for volume in spec.get("volumes", []):
            if volume["name"] == "config":
                assert ("ConfigMap", volume["configMap"]["name"]) in present, name
        (service,) = of_kind(objects, "Service")
        assert service["spec"]["selector"].items() <= labels, name
        assert service["spec"]["publishNotReadyAddresses"] is True, name
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
            (endpoint,) = monitor["spec"]["endpoints"]
            assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items(), name
            assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}, name
        for policy in of_kind(objects, "NetworkPolicy"):
            assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels, name


def dashboards(folder, source):
    """Every dashboard arrives unchanged, where Grafana's sidecar looks, and small enough to be applied."""
    files = {file.name: file.read_text() for file in pathlib.Path(source).glob("*.json")}
    for name in ("prometheus-operator", "chart-all-on"):
        found = {}
        for one in of_kind(renderings(folder)[name], "ConfigMap"):
            if one["metadata"]["labels"].get("grafana_dashboard") == "1":
                found |= one["data"]
                # kubectl apply keeps the object in an annotation, which holds 256 KiB.
                assert len(json.dumps(one)) < 250_000, f"{one['metadata']['name']} is too large"
        assert files and found == files, f"{name}: {sorted(found)} instead of {sorted(files)}"


def versions(folder, version):
    """One version, the crate's, in every rendering."""
    for name, objects in renderings(folder).items():
        for one in of_kind(objects, "StatefulSet"):
            template = one["spec"]["template"]
            assert template["metadata"]["labels"]["app.kubernetes.io/version"] == version, name
            container = exporter(template["spec"])
            assert container["image"].partition("@")[0].endswith(f":{version}"), f"{name}: {container['image']}"


def readme(file, folder, root):
    """Writes the README's overlays of one's own into FOLDER/NAME, with this tree in place of the repository's address."""
    blocks = re.findall(r"(?ms)^```yaml\n(.*?)^```", pathlib.Path(file).read_text())
    (overlay,) = (block for block in blocks if "kind: Kustomization\n" in block)
    (more,) = (block for block in blocks if block.startswith("images:"))
    (less,) = (block for block in blocks if block.startswith("patches:"))
    (config,) = (block for block in blocks if block.startswith("api:"))
    overlay, found = re.subn(r"https://github.com/[^/]+/[^/]+//(\S+)[?]ref=v\S+", rf"{root}/\1", overlay)
    assert found == 1, overlay
    for name, namespace, added in (("own", "translation-exporter", more), ("second", "translation-globex", less + "namePrefix: globex-\n")):
        into = pathlib.Path(folder) / name
        into.mkdir(parents=True)
        (into / "kustomization.yaml").write_text(overlay.replace("namespace: translation-exporter\n", f"namespace: {namespace}\n") + added)
        (into / "config.yaml").write_text(config + "  page_size: 500\n")


def own(own, second):
    """What those overlays render: all that was changed, each with its own absence, and for the second account neither rules nor dashboards again."""
    objects, seconds = (list(yaml.safe_load_all(pathlib.Path(file).read_text())) for file in (own, second))
    (stateful_set,) = of_kind(objects, "StatefulSet")
    spec = stateful_set["spec"]["template"]["spec"]
    assert spec["containers"][0]["image"].startswith("registry.example.com/translation-exporter:"), spec
    (name,) = (volume["configMap"]["name"] for volume in spec["volumes"] if volume["name"] == "config")
    (config,) = (one for one in of_kind(objects, "ConfigMap") if one["metadata"]["name"] == name)
    assert "page_size: 500" in config["data"]["config.yaml"], config
    for one in of_kind(objects, "ServiceMonitor") + of_kind(objects, "PrometheusRule"):
        assert one["metadata"]["labels"]["release"] == "monitoring-stack", one["metadata"]
    (policy,) = of_kind(objects, "NetworkPolicy")
    assert "observability" in str(policy["spec"]["ingress"]), policy
    assert {one["metadata"].get("namespace") for one in seconds} == {None, "translation-globex"}
    assert [one["kind"] for one in seconds].count("ServiceMonitor") == 1
    assert len(of_kind(seconds, "ConfigMap")) == 1 and len(of_kind(seconds, "PrometheusRule")) == 1
    for rendered in (objects, seconds):
        (service,) = (one["metadata"] for one in of_kind(rendered, "Service"))
        (absent,) = (one for one in of_kind(rendered, "PrometheusRule") if one["metadata"]["name"].endswith("-absent"))
        (rule,) = absent["spec"]["groups"][0]["rules"]
        up = f'up{{job="{service["name"]}", namespace="{service["namespace"]}"}}'
        assert rule["expr"] == f"absent({up}) or max by (cluster, namespace, job) ({up}) == 0", rule


def native(folder, into):
    """Splits each rendering: what Kubernetes knows by itself to NAME.yaml, what CRDs define to NAME.crds.json."""
    for name, objects in renderings(folder).items():
        foreign = [one for one in objects if one["apiVersion"].startswith(("monitoring.coreos.com/", "gateway.networking.k8s.io/"))]
        (pathlib.Path(into) / f"{name}.yaml").write_text(yaml.safe_dump_all(one for one in objects if one not in foreign))
        if foreign:
            (pathlib.Path(into) / f"{name}.crds.json").write_text(json.dumps(foreign))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
