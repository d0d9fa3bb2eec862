"""The metrics in use are those of the running program and of the rules, and every one of the program's is used.

The environment gives PROGRAM, the built program.
"""

import os
import re
import tempfile
import unittest
from pathlib import Path

from dashboards import choices, events, labels_named, load, parse, rules, selectors, targets
from harness import address, get, running, wait_for
from prometheus_client.parser import text_string_to_metric_families

# Exposed, and neither charted nor alerted on.
UNUSED = {
    "translation_exporter_state_discarded": "the diagnosis says so, as the problem state_discarded",
    "translation_exporter_last_poll_timestamp_seconds": "the diagnosis says so, as the problem polls_failing",
    "process_virtual_memory_bytes": "says nothing about the memory that is used",
    "process_virtual_memory_max_bytes": "a limit that is hardly ever set",
    "process_threads": "does not change",
}
# Exposed only where the exporter serves TLS, while a poll is under way, while Retry-After holds requests, and after a fall.
AT_TIMES = {
    "translation_fallen_from_ratio",
    "translation_exporter_api_held_until_timestamp_seconds",
    "translation_exporter_tls_certificate_expiry_timestamp_seconds",
    "translation_exporter_poll_started_timestamp_seconds",
}
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
    def test_every_metric_and_label_in_use_is_exposed_and_every_exposed_one_is_used(self):
        exposed = exposed_by_the_demo()
        recorded = {name for _, name in rules() if name}
        others = PROMETHEUS_METRICS | KUBE_METRICS
        all_labels = set().union(*exposed.values(), *others.values())
        queries = [query for query, _ in rules()]
        for dashboard in load():
            queries += [*targets(dashboard), *events(dashboard), *choices(dashboard)]
        used = set()
        for query in queries:
            expr = parse(query.expr)
            for selector, _ in selectors(expr):
                name = selector.name
                used.add(name)
                if name in recorded | AT_TIMES:
                    labels = all_labels
                else:
                    self.assertIn(name, exposed.keys() | others.keys(), query.where)
                    labels = exposed.get(name) or others[name]
                for matcher in selector.matchers.matchers:
                    self.assertIn(matcher.name, labels, query.where)
            legend = re.findall(r"\{\{(\w+)\}\}", (query.target or {}).get("legendFormat", ""))
            made = set(re.findall(r'count_values\("(\w+)"', query.expr))
            self.assertLessEqual(labels_named(expr) | set(legend), all_labels | made, query.where)
        self.assertLessEqual({name for name in used if ":" in name}, recorded)
        bare = {re.sub("_(bucket|sum|count)$", "", name) for name in used}
        unused = {re.sub("_(bucket|sum|count)$", "", name) for name in exposed} - bare - AT_TIMES
        self.assertEqual(unused, UNUSED.keys(), "exposed and used by nothing, beside what is listed as deliberately unused")


if __name__ == "__main__":
    unittest.main()
