"""Renders the Helm chart and the overlays."""

import copy
import functools
import json
import subprocess

import yaml
from harness import ROOT

CHART = ROOT / "deploy/helm/translation-exporter"
KUBERNETES = ROOT / "deploy/kubernetes"
BASE_URL = {"config": {"api": {"base_url": "https://translations.example.com"}}}
MONITORED = BASE_URL | {name: {"enabled": True} for name in ("serviceMonitor", "prometheusRule", "dashboards", "networkPolicy")}
WAYS_IN = {"ingress": {"enabled": True, "hosts": [{"host": "l10n.example.com"}]}, "route": {"main": {"enabled": True}}}
ALL_ON = MONITORED | WAYS_IN


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


def rendered(values, release="translation-exporter", namespace="translation-exporter", chart=CHART):
    """The objects of a release as text, or Refused."""
    command = ["helm", "template", release, chart, "--namespace", namespace, "--values", "-"]
    done = subprocess.run(command, input=json.dumps(values), capture_output=True, text=True)
    if done.returncode:
        raise Refused(done.stderr)
    return done.stdout


def template(values, *arguments, **options):
    return [one for one in yaml.load_all(rendered(values, *arguments, **options), UniqueKeys) if one]


def kustomize(folder):
    done = subprocess.run(["kubectl", "kustomize", folder], check=True, capture_output=True, text=True)
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def the(objects, kind):
    (found,) = (one for one in objects if one["kind"] == kind)
    return found


def of_kind(objects, kind):
    return [one for one in objects if one["kind"] == kind]
