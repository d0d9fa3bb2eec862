"""The metrics in use are those of the running program.

The environment gives PROGRAM, the built program.
"""

import os
import re
import tempfile
import unittest
from pathlib import Path

from dashboards import alerts, choices, events, labels_named, load, parse, selectors, targets
from harness import address, get, running, wait_for
from prometheus_client.parser import text_string_to_metric_families

# The definitions of the metrics say when alone a metric is exposed.
DEFINITIONS = re.findall(
    r'"(translation_\w+|process_\w+)"([^;]*(?:; [^;]*?)*?);\n',
    (Path(__file__).parents[2] / "src/metrics/definition.rs").read_text(),
)
AT_TIMES = {name for name, rest in DEFINITIONS if ".only(" in rest}
LINK = "TRANSLATION_EXPORTER_LINKS__REPOSITORY"
TARGET_LABELS = {"cluster", "namespace", "job", "instance", "pod"}
# What Prometheus itself adds.
PROMETHEUS_METRICS = {"up": TARGET_LABELS, "ALERTS": TARGET_LABELS | {"alertname", "alertstate"}}
# What kube-state-metrics exposes of a pod, where there is one.
KUBE_METRICS = {"kube_pod_container_resource_limits": {"container", "resource"} | TARGET_LABELS}


def exposed_by_the_demo() -> dict[str, set[str]]:
    """The labels of each metric."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        # Without links, no repository has a url.
        demo = ["env", f"{LINK}=https://example.com/{{repo}}", os.environ["PROGRAM"], "demo", "--web.listen-address=127.0.0.1:0"]
        with running(demo, log) as process:
            url = f"http://{address(process, log)}/metrics"
            text = wait_for("a whole poll", lambda: (found := get(url)) and "exporter_last_success" in found and found)
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set(TARGET_LABELS)).update(sample.labels)
    return found


class Live(unittest.TestCase):
    def test_every_metric_and_label_in_use_is_exposed(self):
        exposed = exposed_by_the_demo()
        others = PROMETHEUS_METRICS | KUBE_METRICS
        all_labels = set().union(*exposed.values(), *others.values())
        queries = [*alerts()]
        for dashboard in load():
            queries += [*targets(dashboard), *events(dashboard), *choices(dashboard)]
        for query in queries:
            expr = parse(query.expr)
            for selector, _ in selectors(expr):
                name = selector.name
                if name in AT_TIMES:
                    labels = all_labels
                else:
                    self.assertIn(name, exposed.keys() | others.keys(), query.where)
                    labels = exposed.get(name) or others[name]
                for matcher in selector.matchers.matchers:
                    self.assertIn(matcher.name, labels, query.where)
            legend = re.findall(r"\{\{(\w+)\}\}", (query.target or {}).get("legendFormat", ""))
            made = set(re.findall(r'count_values\("(\w+)"', query.expr))
            self.assertLessEqual(labels_named(expr) | set(legend), all_labels | made, query.where)


if __name__ == "__main__":
    unittest.main()
