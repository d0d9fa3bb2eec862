"""The scrape job of overlays/plain gives each account's pod a job of its own.

    scrape_job.py FOLDER      an empty folder for files
"""

import json
import pathlib
import subprocess
import sys

import yaml

root = pathlib.Path(__file__).resolve().parent.parent.parent
FILE = root / "deploy/kubernetes/overlays/plain/prometheus-scrape-job.yaml"


def pod(name, **changes):
    """What Prometheus discovers of a pod; `changes` are its meta labels without the common prefix."""
    meta = {
        "namespace": "l10n", "pod_name": name, "pod_controller_name": name.removesuffix("-0"), "pod_phase": "Running",
        "pod_container_port_name": "metrics", "pod_annotation_prometheus_io_scrape": "true",
        "pod_annotation_prometheus_io_scheme": "http", "pod_annotation_prometheus_io_path": "/metrics",
    } | changes
    address = meta.pop("address", "10.0.0.1:10018")
    return {"targets": [address], "labels": {f"__meta_kubernetes_{name}": value for name, value in meta.items()}}


def main(folder):
    config = yaml.safe_load(FILE.read_text())
    # Debian's Prometheus knows no Kubernetes: the pods come from a file.
    [job] = config["scrape_configs"]
    [discovery] = job.pop("kubernetes_sd_configs")
    selector = {"role": "pod", "label": "app.kubernetes.io/name=translation-exporter"}
    assert discovery == {"role": "pod", "selectors": [selector]}, discovery
    job["file_sd_configs"] = [{"files": ["pods.json"]}]
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
    (folder / "pods.json").write_text(json.dumps([
        pod("translation-exporter-acme-0"),
        pod("translation-exporter-globex-0", address="[fd00::2]:10018", pod_annotation_prometheus_io_scheme="https",
            pod_annotation_prometheus_io_path="/l10n"),
        pod("evicted-0", pod_phase="Failed"),
        pod("not-annotated-0", pod_annotation_prometheus_io_scrape=""),
        pod("another-port-0", pod_container_port_name="debug"),
    ]))
    answer = subprocess.run(
        ["promtool", "check", "service-discovery", "--timeout=3s", folder / "prometheus.yaml", job["job_name"]],
        check=True, capture_output=True, text=True).stdout
    found = [target["labels"] for target in json.loads(answer) if target["labels"]]
    shown = sorted(
        tuple(labels[name] for name in ("job", "namespace", "instance", "__scheme__", "__address__", "__metrics_path__"))
        for labels in found
    )
    assert shown == [
        ("translation-exporter-acme", "l10n", "translation-exporter-acme-0", "http", "10.0.0.1:10018", "/metrics"),
        ("translation-exporter-globex", "l10n", "translation-exporter-globex-0", "https", "[fd00::2]:10018", "/l10n"),
    ], json.dumps(found, indent=1)
    print(f"{len(shown)} of 5 pods are scraped, each with a job of its own")


main(pathlib.Path(sys.argv[1]))
