"""A typical Python exporter: prometheus_client with a custom collector over the responses of one poll.

Serves on a free port of 127.0.0.1 and prints its address.
"""

import json
import sys
import threading
import time

from harness import get
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily


def poll(root):
    """Returns [(repository, [language])] in the order of the listing."""

    def ask(path):
        return json.loads(get(root + path, {"Authorization": "Bearer bench"}))

    repositories, page = [], ask("/v1/repositories?limit=1000")
    while page:
        repositories += page
        page = ask(f"/v1/repositories?limit=1000&after={page[-1]['id']}")
    return [(repository, ask(f"/v1/repositories/{repository['id']}/languages")) for repository in repositories]


class Collector:
    def __init__(self, answers):
        self.read_at = time.time()
        self.answers = sorted(answers, key=lambda answer: answer[0]["name"])

    def collect(self):
        ratio = GaugeMetricFamily("translation_completion_ratio", "Completion.", labels=["repo", "language"])
        progress = GaugeMetricFamily("translation_last_progress_timestamp_seconds", "Last progress.", labels=["repo", "language"])
        ready = GaugeMetricFamily("translation_ready", "Readiness.", labels=["repo", "language"])
        language_info = GaugeMetricFamily("translation_language_info", "Name.", labels=["language", "name"])
        info = GaugeMetricFamily("translation_repository_info", "Repository.", labels=["repo", "id", "private"])
        created = GaugeMetricFamily("translation_repository_created_timestamp_seconds", "Creation time.", labels=["repo"])
        count = GaugeMetricFamily("translation_repository_languages", "Languages.", labels=["repo"])
        success = GaugeMetricFamily("translation_repository_last_success_timestamp_seconds", "Last success.", labels=["repo"])
        names = {}
        for repository, languages in self.answers:
            name = repository["name"]
            for language in languages:
                labels = [name, language["code"]]
                ratio.add_metric(labels, language["completion"] / 100)
                progress.add_metric(labels, self.read_at)
                ready.add_metric(labels, float(language["completion"] >= 100))
                names[language["code"]] = language["name"]
            info.add_metric([name, str(repository["id"]), str(repository["private"]).lower()], 1)
            created.add_metric([name], 1.6e9 + repository["id"])
            count.add_metric([name], len(languages))
            success.add_metric([name], self.read_at)
        for code, name in names.items():
            language_info.add_metric([code, name], 1)
        return [ratio, progress, ready, language_info, info, created, count, success]

    def describe(self):
        return []


if __name__ == "__main__":
    registry = CollectorRegistry()
    registry.register(Collector(poll(sys.argv[1])))
    server, _ = start_http_server(0, addr="127.0.0.1", registry=registry)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    threading.Event().wait()
