"""What several dashboards share: large figures, each described by its dashboard, charts and cells of completion."""

from typing import Any

from blocks import (
    AGE,
    BAD,
    COMPLETION,
    GOOD,
    NEUTRAL,
    NONE_WANTED,
    SHADES,
    Column,
    Json,
    Panel,
    Query,
    column,
    fields,
    lines,
    override,
    stat,
    thresholds,
    words,
)
from queries import AGE_OF_DATA, EXPORTER, INTERVAL, RATIO, STALLED

# What would round to 100 % without being complete is shown differently.
NEARLY = {"from": 0.9995, "to": 1 - 1e-12, "result": {"index": 0, "text": "< 100 %"}}
PERCENT = {"unit": "percentunit", "decimals": 1, "mappings": [{"type": "range", "options": NEARLY}]}
DATE = {"unit": "dateTimeAsIso", "custom__width": 180}
STALLED_WORDS = words({"0": ("moving", "text"), "1": ("stalled", BAD)})


def completion_column(name: str, **properties: Any) -> Column:
    return column(
        name,
        "Completion",
        **PERCENT,
        min=0,
        max=1,
        color={"mode": "thresholds"},
        thresholds=thresholds(SHADES),
        custom__cellOptions={"type": "gauge", "mode": "basic", "valueDisplayMode": "text"},
        **properties,
    )


def progress_columns(state: str, idle: str, clock: str) -> list[Column]:
    """Whether it has stalled, and for how long and since when it has not risen: the names of those values."""
    return [
        column(state, "State", mappings=STALLED_WORDS, custom__cellOptions={"type": "color-text"}, custom__width=90),
        column(idle, "No progress for", unit="s", decimals=1, custom__width=140),
        column(clock, "Last progress", **DATE),
    ]


def six(*panels: Panel) -> list[tuple[Panel, int]]:
    """Panels of a sixth of the width each."""
    return [(panel, 4) for panel in panels]


def completion(title: str, description: str, expr: str) -> Panel:
    return stat(title, description, [Query(expr)], fields(**PERCENT, steps=COMPLETION))


def mean_completion(description: str) -> Panel:
    return completion("Mean completion", description, f"avg({RATIO})")


def minimum_completion(description: str) -> Panel:
    return completion("Minimum completion", description, f"min({RATIO})")


def counts(title: str, description: str, *queries: Query) -> Panel:
    """Numbers that are neither good nor bad."""
    return stat(title, description, list(queries), fields(unit="short", steps=NEUTRAL))


def unwanted(title: str, description: str, expr: str) -> Panel:
    """A number that should be 0."""
    return stat(title, description, [Query(expr)], fields(unit="short", steps=NONE_WANTED))


def stalled_languages() -> Panel:
    description = "Incomplete languages whose completion has not risen for longer than selected above."
    return unwanted("Languages stalled", description, f"sum({STALLED})")


def age(title: str, description: str, expr: str, expr_in_intervals: str, **more: str) -> Panel:
    """How long ago, in time and in poll intervals: what is old for one interval is fresh for another."""
    queries = [Query(expr, "ago"), Query(expr_in_intervals, "poll intervals")]
    panel = stat(title, description, queries, fields(unit="s", decimals=0, steps=NEUTRAL, **more))
    panel.overrides = [override("poll intervals", unit="none", decimals=1, thresholds=thresholds(AGE))]
    return panel


def age_of_data(description: str) -> Panel:
    return age("Age of the data", description, f"max({AGE_OF_DATA})", f"max({AGE_OF_DATA} / {INTERVAL})")


def verdict(title: str, description: str, expr: str, *, no: tuple[str, str], yes: tuple[str, str]) -> Panel:
    """0 or 1 in words: (word, color)."""
    defaults = fields(unit="none", steps=NEUTRAL, mappings=words({"0": no, "1": yes}))
    return stat(title, description, [Query(expr)], defaults)


def api_reachable(description: str) -> Panel:
    expr = f"min(translation_up{{{EXPORTER}}})"
    return verdict("API", description, expr, no=("unreachable", BAD), yes=("reachable", GOOD))


def scale_plausible(description: str) -> Panel:
    expr = f"max(translation_exporter_completion_scale_suspect{{{EXPORTER}}})"
    return verdict("Scale", description, expr, no=("plausible", GOOD), yes=("suspect", BAD))


def completion_over_time(title: str, description: str, expr: str, legend: str) -> Panel:
    """The least complete first in the legend."""
    defaults: Json = fields(**PERCENT, custom={"axisSoftMax": 1})
    return lines(title, description, [Query(expr, legend)], defaults, legend=("lastNotNull", "min"), descending=False)
