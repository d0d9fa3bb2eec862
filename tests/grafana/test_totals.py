"""Every total of the dashboards, minute by minute through an outage of one of two accounts, asked of a real Prometheus.

All stands still in these worlds, so that a total that is neither blank nor as it was has left out an account.
"""

import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path

import world
from dashboards import Query, load, targets
from harness import Prometheus

CHOICES = {
    **{"$cluster": ".*", "$namespace": ".*", "$job": ".+", "$instance": ".+", "$repository": "acme/app-web", "$repo": ".+"},
    **{"$language": ".+", "$stalled_after": str(5 * world.DAY), "$at_risk_within": str(14 * world.DAY), "$__interval": "1m"},
}
CHARTS = {"Ready and stalled", "Due and not ready, over time", "Completion of the five languages furthest behind"}
# How many repositories have no data is not blank when they are lost, and an age grows.
OTHERS = {"Repositories / B", "Oldest data / A", "Oldest data / B"}


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


class Totals(unittest.TestCase):
    def setUp(self):
        self.stack = ExitStack()
        self.addCleanup(self.stack.close)

    def start(self, *, down: bool) -> Prometheus:
        folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "prometheus.yaml").write_text("")
        world.write(world.outage(down=down), folder, every=2 * world.MINUTE)
        return self.stack.enter_context(Prometheus.start(folder, "prometheus.yaml"))

    def values(self, prometheus: Prometheus, query: Query, **choices: str) -> list[dict[int, float]]:
        """The values of each series by the minute since the outage began, from 7 hours before it until 6 hours after it."""
        expr = query.expr
        for name, value in (CHOICES | {f"${name}": value for name, value in choices.items()}).items():
            expr = expr.replace(name, value)
        begin, end = world.OUTAGE
        asked = {"query": expr, "start": begin - 7 * world.HOUR, "end": end + 6 * world.HOUR, "step": world.MINUTE}
        found = prometheus.ask("query_range", **asked)["result"]
        return [{(int(at) - begin) // world.MINUTE: float(value) for at, value in series["values"]} for series in found]

    def test_a_total_is_as_it_was_or_blank_in_every_minute_of_an_outage(self):
        # Where data are lost without a scrape that fails, Prometheus shows the last ones for five minutes.
        for down, lost in ((False, 65), (True, 5)):
            prometheus = self.start(down=down)
            asked = [(query, {}) for query in totals("translation-progress")]
            asked += [(query, {"repository": "umbrella/app"}) for query in totals("translation-repository")]
            for query, choices in asked:
                with self.subTest(query.where, down=down):
                    title, letter = query.where.split(" / ")[1:]
                    if (title, letter) == ("Repositories", "B"):
                        continue
                    found = self.values(prometheus, query, **choices)
                    minutes = {minute for series in found for minute in series}
                    self.assertEqual({minute for minute in minutes if lost < minute < 8 * 60}, set())
                    self.assertTrue({-60, 8 * 60 + 30} <= minutes)
                    if f"{title} / {letter}" not in OTHERS:
                        self.assertLess(max(max(series.values()) - min(series.values()) for series in found), 1e-9)
                        self.assertEqual(len({tuple(sorted(series)) for series in found}), 1)

    def test_a_repository_of_the_other_account_is_never_blank(self):
        prometheus = self.start(down=True)
        for query in totals("translation-repository"):
            with self.subTest(query.where):
                minutes = {minute for series in self.values(prometheus, query) for minute in series}
                self.assertEqual({minute for minute in range(-60, 9 * 60) if minute not in minutes}, set())


if __name__ == "__main__":
    unittest.main()
