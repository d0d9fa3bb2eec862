"""What the dashboards share: words and panels about translations."""

from blocks import (
    BAD, COUNT, COUNTS, GOOD, NEUTRAL, NONE_WANTED, PERCENT, POINTS_OF_ALL_LANGUAGES, SECONDS, Panel, Query, colored,
    fixed, lines, override, stat, words,
)
from queries import ACCOUNT, INTERVAL, Scope, at_the_end, late

DASHED = {"fill": "dash", "dash": [10, 10]}
DAYS = 24 * 3600


def age(title: str, description: str, expr: str, is_late: str) -> Panel:
    """How long ago, and in a word whether that is too long: what is late for one interval is in time for another."""
    return stat(
        title,
        f"{description} Late: more than three poll intervals, and more than five minutes.",
        Query(expr, "ago"),
        Query(is_late, "that is"),
        overrides=[override("that is", unit="none", mappings=words(("in time", GOOD), ("late", BAD)))],
        **SECONDS,
    )


def translations(of: Scope) -> Panel:
    """How many are ready, and how many are not."""
    return stat(
        "Translations",
        "A translation is one language of one repository. It is ready when its completion is at or above its target, which is "
        "100 % where no other is configured. Stalled: not ready, and without progress for as long as the rules say, or else "
        "for 7 days. Unknown: without a completion; these count whichever languages are selected.",
        Query(f"sum({of.ready})", "ready"),
        Query(f"sum(1 - {of.ready})", "behind"),
        Query(f"sum({of.stalled})", "stalled"),
        Query(f"sum({of.unknown})", "unknown"),
        overrides=[override("stalled", **colored(NONE_WANTED))],
        **COUNT,
    )


def mean_completion(of: Scope) -> Panel:
    return stat(
        "Mean completion",
        "Completion averaged over all selected translations, with equal weight, whatever their targets are.",
        Query(f"avg({of.ratio})"),
        **PERCENT,
    )


def dates(of: Scope) -> Panel:
    """How many of what is not ready is due when."""
    none = f"0 * count({of.served})"
    return stat(
        "Due and not ready",
        "Translations whose target has a date and that are not ready: the date has passed; it is within as many days as the alert "
        "for what is at risk looks ahead, or else 14; or it is later.",
        Query(f"count({of.open} < time()) or {none}", "missed"),
        Query(f"count({of.open} >= time() < time() + $at_risk_within) or {none}", "soon"),
        Query(f"count({of.open} >= time() + $at_risk_within) or {none}", "later"),
        overrides=[override("missed", **colored(NONE_WANTED))],
        **COUNT,
    )


def age_of_data(of: Scope) -> Panel:
    of_the_account = f"on ({ACCOUNT}) group_left () {INTERVAL}"
    return age(
        "Oldest data",
        "How long ago the repository whose data are oldest was last read. Data older than poll.stale_after are not shown at all.",
        f"max({of.age})",
        f"max({late(of.age, of_the_account)})",
    )


def completion_over_time(ratio: str) -> Panel:
    expr = f"avg by (language) ({ratio})"
    return lines(
        "Completion of the five languages furthest behind",
        "The five that are furthest behind at the end of the time range, and the mean of all. A fall is new text to translate.",
        Query(f"{expr} and bottomk(5, {at_the_end(expr)})", "{{language}}"),
        Query(f"avg({ratio})", "mean of all"),
        overrides=[
            override("mean of all", color={"mode": "fixed", "fixedColor": NEUTRAL}, custom__lineStyle=DASHED),
        ],
        last=True,
        points=POINTS_OF_ALL_LANGUAGES,
        **PERCENT,
        custom={"axisSoftMax": 1},
    )


def counts_over_time(of: Scope) -> Panel:
    return lines(
        "Ready and stalled",
        "How many translations were ready, and how many had stalled. All languages count, whichever are selected.",
        Query(f"sum({of.recorded_ready})", "ready"),
        Query(f"sum({of.recorded_stalled})", "stalled"),
        overrides=[fixed("ready", GOOD), fixed("stalled", BAD)],
        stepped=True,
        **COUNTS,
    )
