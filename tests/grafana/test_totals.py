"""The queries of the dashboards, asked of a real Prometheus: all of them in four worlds, and every total minute by minute through an
outage of one of two accounts.

All stands still in the worlds of an outage, so that a total that is neither blank nor as it was has left out an account.
"""

import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path

import world
from dashboards import Query, choices, events, load, targets
from harness import Prometheus

CHOICES = {
    **{"$cluster": ".*", "$namespace": ".*", "$job": ".+", "$instance": ".+", "$repository": "acme/app-web", "$repo": ".+"},
    **{"$language": ".+", "$__interval": "1m"},
    **{"$__rate_interval": "4m", "$__range": "6h"},
}
CHARTS = {"Ready and not ready", "Stalled, regressed, overdue and at risk", "Completion of the five languages furthest behind"}
# What is gone is not blank when it is lost, and an age grows.
GONE = {"Repositories / B", "Oldest data / B"}
OTHERS = GONE | {"Oldest data / A"}


def totals(uid: str) -> list[Query]:
    """Figures, the figures of languages in all repositories, and charts."""
    [dashboard] = [one for one in load() if one["uid"] == uid]
    found = []
    for query in targets(dashboard):
        title, letter = query.where.split(" / ")[1:]
        of_languages = title == "Languages" and uid == "translation-progress" and letter in "BCD"
        if query.panel["type"] == "stat" or title in CHARTS or of_languages:
            found.append(query)
    return found


def interpolated(query: Query, chosen: dict[str, str]) -> str:
    """The query with values for its variables."""
    expr = query.expr
    for name, value in (CHOICES | {f"${name}": value for name, value in chosen.items()}).items():
        expr = expr.replace(name, value)
    return expr


class OfAWorld(unittest.TestCase):
    def setUp(self):
        self.stack = ExitStack()
        self.addCleanup(self.stack.close)

    def start(self, series: list[world.Series], every: int) -> Prometheus:
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "prometheus.yaml").write_text("")
        world.write(series, folder, every=every)
        return self.stack.enter_context(Prometheus.start(folder, "prometheus.yaml"))


class Everything(OfAWorld):
    def test_every_query_is_answered_in_every_world(self):
        worlds = {"full": world.full(), "ready": world.everything_ready(), "nothing read": world.nothing_read(), "empty": []}
        for name, series in worlds.items():
            prometheus = self.start(series, world.MINUTE)
            for dashboard in load():
                for query in [*targets(dashboard), *events(dashboard), *choices(dashboard)]:
                    with self.subTest(query.where, world=name):
                        expr = interpolated(query, {})
                        if query.instant:
                            prometheus.now(expr, world.NOW)
                        else:
                            prometheus.ask("query_range", query=expr, start=world.NOW - world.HOUR, end=world.NOW, step=300)


class Totals(OfAWorld):
    def values(self, prometheus: Prometheus, query: Query, **chosen: str) -> list[dict[int, float]]:
        """The values of each series by the minute since the outage began, from 7 hours before it until 6 hours after it."""
        begin, end = world.OUTAGE
        asked = {"query": interpolated(query, chosen), "start": begin - 7 * world.HOUR, "end": end + 6 * world.HOUR, "step": world.MINUTE}
        found = prometheus.ask("query_range", **asked)["result"]
        return [{(int(at) - begin) // world.MINUTE: float(value) for at, value in series["values"]} for series in found]

    def test_a_total_is_as_it_was_or_blank_in_every_minute_of_an_outage(self):
        # Where data are lost without a scrape that fails, Prometheus shows the last ones for five minutes.
        for down, lost in ((False, 65), (True, 5)):
            prometheus = self.start(world.outage(down=down), 2 * world.MINUTE)
            asked = [(query, {}) for query in totals("translation-progress")]
            asked += [(query, {"repository": "umbrella/app"}) for query in totals("translation-repository")]
            for query, chosen in asked:
                with self.subTest(query.where, down=down):
                    title, letter = query.where.split(" / ")[1:]
                    if f"{title} / {letter}" in GONE:
                        continue
                    found = self.values(prometheus, query, **chosen)
                    minutes = {minute for series in found for minute in series}
                    self.assertEqual({minute for minute in minutes if lost < minute < 8 * 60}, set())
                    self.assertTrue({-60, 8 * 60 + 30} <= minutes)
                    if f"{title} / {letter}" not in OTHERS:
                        self.assertLess(max(max(series.values()) - min(series.values()) for series in found), 1e-9)
                        self.assertEqual(len({tuple(sorted(series)) for series in found}), 1)

    def test_a_repository_of_the_other_account_is_never_blank(self):
        prometheus = self.start(world.outage(down=True), 2 * world.MINUTE)
        for query in totals("translation-repository"):
            if " / ".join(query.where.split(" / ")[1:]) in GONE:
                continue
            with self.subTest(query.where):
                minutes = {minute for series in self.values(prometheus, query) for minute in series}
                self.assertEqual({minute for minute in range(-60, 9 * 60) if minute not in minutes}, set())


if __name__ == "__main__":
    unittest.main()
