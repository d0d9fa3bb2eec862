"""What several dashboards show alike: large figures, each with the words of its dashboard, charts and cells of completion."""

from blocks import (
    AGE,
    COMPLETION,
    NEUTRAL,
    NONE_WANTED,
    Json,
    Panel,
    Query,
    fields,
    lines,
    stat,
    thresholds,
    words,
)
from queries import AGE_OF_DATA, EXPORTER, RATIO, STALLED

PERCENT = {"unit": "percentunit", "decimals": 1}
STALLED_WORDS = words({"0": ("moving", "text"), "1": ("stalled", "orange")})
RATIO_CELL = {
    **PERCENT,
    "min": 0,
    "max": 1,
    "color": {"mode": "thresholds"},
    "thresholds": thresholds(COMPLETION),
    "custom__cellOptions": {"type": "gauge", "mode": "basic", "valueDisplayMode": "text"},
}


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
    """A number that had better be 0."""
    return stat(title, description, [Query(expr)], fields(unit="short", steps=NONE_WANTED))


def stalled_languages() -> Panel:
    description = "Incomplete languages whose completion has not risen for longer than chosen above."
    return unwanted("Languages stalled", description, f"sum({STALLED})")


def age(title: str, description: str, expr: str = AGE_OF_DATA, **more: str) -> Panel:
    return stat(title, description, [Query(expr)], fields(unit="s", decimals=0, steps=AGE, **more))


def verdict(title: str, description: str, expr: str, *, no: tuple[str, str], yes: tuple[str, str]) -> Panel:
    """0 or 1 in words: (word, color)."""
    defaults = fields(unit="none", steps=NEUTRAL, mappings=words({"0": no, "1": yes}))
    return stat(title, description, [Query(expr)], defaults)


def api_reachable(description: str) -> Panel:
    expr = f"min(translation_up{{{EXPORTER}}})"
    return verdict("API", description, expr, no=("unreachable", "red"), yes=("reachable", "green"))


def scale_plausible(description: str) -> Panel:
    expr = f"max(translation_exporter_completion_scale_suspect{{{EXPORTER}}})"
    return verdict("Scale", description, expr, no=("plausible", "green"), yes=("suspect", "red"))


def completion_over_time(title: str, description: str, expr: str, legend: str) -> Panel:
    """The least complete first in the legend."""
    defaults: Json = fields(**PERCENT, custom={"axisSoftMax": 1})
    return lines(title, description, [Query(expr, legend)], defaults, legend=("lastNotNull", "min"), descending=False)
