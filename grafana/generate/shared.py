"""What the dashboards share: words and panels about translations, and what needs attention."""

from blocks import (
    ACCOUNT_COLUMNS, BAD, COUNT, COUNTS, DAY, GOOD, LEGEND_WITH_LAST, NEUTRAL, PERCENT, POINTS_OF_ALL_LANGUAGES, RUNBOOK,
    SECONDS, Column, Line, Panel, Query, bad_if_any, column, fixed, lines, link, override, stat, table, word_column,
    words,
)
from queries import ACCOUNT, CHOSEN, GAPS, INTERVAL, KNOWN, Scope, at_the_end, late

DAYS = 24 * 3600
BLANK = "Blank while data of a selected account are missing."


def date_column(name: str, title: str) -> Column:
    return column(name, title, 105, **DAY)


def attention() -> Panel:
    """The first thing to read: alerts, and why figures are blank."""

    def said(message: str, expr: str) -> str:
        return f'label_replace(({expr}) * 0, "alertname", "{message}", "", "")'

    firing = f'ALERTS{{{CHOSEN}, alertstate="firing", alertname=~"Translation.+"}}'
    rules = "last_over_time(translation:stalled_after_seconds[15m])"
    messages = [
        f"count by (alertname, {ACCOUNT}) ({firing})",
        said("Data are missing: totals are blank, and lists leave them out", GAPS),
        said("No exporter is scraped yet: is it on Prometheus' page of targets, and is this the right data source?",
             f"absent({KNOWN})"),
        said("The rules are not loaded: no alert can fire, and charts of translations over time stay empty", f"absent({rules})"),
        said("No alert is firing", f"absent({firing}) and on () group({rules}) and on () group({KNOWN})"),
    ]
    return table(
        "What needs attention",
        "The alerts that are firing, with the number of translations or exporters that each is about; and parts that are not "
        "installed yet. While data of an account are missing, totals are blank, as they would be wrong without these: choose other "
        "jobs to see theirs. A click opens the runbook.",
        [" or ".join(messages)],
        [
            column("alertname", "What", links=[link("Open the runbook", f"{RUNBOOK}#${{__value.raw:percentencode}}", away=True)]),
            column("Value #A", "How many", 90, mappings=words(("", NEUTRAL))),
            # The rest is for what it says, which is long.
            *(column(name, title, properties["custom__minWidth"]) for name, title, properties in ACCOUNT_COLUMNS),
        ],
        sort="What",
    )


def top(age_panel: Panel, *figures: tuple[Panel, int]) -> list[Line]:
    """The first screen: figures, then what needs attention beside the age of the data."""
    return [(4, list(figures)), (6, [(attention(), 18), (age_panel, 6)])]


def age(title: str, description: str, expr: str, is_late: str) -> Panel:
    """How long ago, and in a word whether that is too long: what is late for one interval is in time for another."""
    return stat(
        title,
        f"{description} Late: more than three poll intervals, and more than five minutes.",
        Query(expr, "ago"),
        Query(is_late, "that is"),
        overrides=[override("that is", unit="none", mappings=words(("on time", GOOD), ("late", BAD)))],
        **SECONDS,
    )


def readiness(of: Scope) -> list[Panel]:
    """How many are ready, and how many are not."""
    ready, unknown = f"sum({of.ready})", f"sum({of.unknown})"
    everything = f"(count({of.ratio}) + {unknown})"
    # The two counts are labels, so that the share says of how many it is.
    labels = f'group_left (ready) count_values("ready", {ready}) * on () group_left (all) count_values("all", {everything})'
    return [
        stat(
            "Translations",
            "A translation is one language of one repository. It is ready when its completion is at or above its target, which "
            f"is 100 % where no other is configured. {BLANK}",
            Query(of.whole(f"{ready} / {everything} * on () {labels}"), "{{ready}} of {{all}} ready"),
            **PERCENT,
        ),
        stat(
            "Not ready",
            "Behind: below its target. Stalled, a part of these: without progress for as long as the rules say, or else for 7 "
            f"days. Unknown: without a completion; these count whichever languages are selected. {BLANK}",
            Query(of.whole(f"sum(1 - {of.ready})"), "behind"),
            Query(of.whole(f"sum({of.stalled})"), "incl. stalled"),
            Query(of.whole(unknown), "unknown"),
            overrides=[bad_if_any("incl. stalled")],
            **COUNT,
        ),
    ]


def mean_completion(of: Scope) -> Panel:
    return stat(
        "Mean completion",
        f"Of all selected translations now, with equal weight, whatever their targets are. {BLANK}",
        Query(of.whole(f"avg({of.ratio})"), "now"),
        **PERCENT,
    )


def dates(of: Scope) -> Panel:
    """How many of what is not ready is due when."""

    def due(title: str, when: str) -> Query:
        return Query(of.whole(f"count({of.open} {when}) or 0 * count({of.served})"), title)

    return stat(
        "Due and not ready",
        "Translations whose target has a date and that are not ready. Overdue: the date has passed. Soon: it is within as many days as the "
        f"alert for what is at risk looks ahead, or else 14. Later: all others. {BLANK}",
        due("overdue", "< time()"),
        due("soon", ">= time() < time() + $at_risk_within"),
        due("later", ">= time() + $at_risk_within"),
        overrides=[bad_if_any("overdue")],
        **COUNT,
    )


def age_of_data(of: Scope) -> Panel:
    of_the_account = f"on ({ACCOUNT}) group_left () {INTERVAL}"
    return age(
        "Oldest data",
        f"How long ago the repository whose data are oldest was last read. Data older than poll.stale_after are not shown. {BLANK}",
        of.whole(f"max({of.age})"),
        of.whole(f"max({late(of.age, of_the_account)})"),
    )


def completion_over_time(of: Scope, ratio: str, window: str) -> Panel:
    expr, mean = f"avg by (language) ({ratio})", f"mean, {window}"
    return lines(
        "Completion of the five languages furthest behind",
        "The five that are furthest behind at the end of the time range, and the mean of all. A fall is new text to translate. "
        f"{BLANK}",
        Query(of.whole_recorded(f"{expr} and bottomk(5, {at_the_end(expr)})"), "{{language}}"),
        Query(of.whole_recorded(f"avg({ratio})"), mean),
        overrides=[fixed(mean, NEUTRAL, custom__lineStyle={"fill": "dash", "dash": [10, 10]})],
        legend=LEGEND_WITH_LAST,
        points=POINTS_OF_ALL_LANGUAGES,
        **PERCENT,
        custom={"axisSoftMax": 1},
    )


def counts(of: Scope, title: str, description: str, *counted: tuple[str, str, str], **more: int) -> Panel:
    """Totals over time: of each its expression, its name and its colour."""
    return lines(
        title,
        f"{description} {BLANK}",
        *(Query(of.whole_recorded(expr), name) for expr, name, _ in counted),
        overrides=[fixed(name, color) for _, name, color in counted],
        stepped=True,
        **more,
        **COUNTS,
    )


def ready_and_stalled(of: Scope) -> Panel:
    return counts(
        of,
        "Ready and stalled",
        "Translations that were ready, and translations that had stalled. All languages count, whichever are selected.",
        (f"sum({of.recorded_ready})", "ready", GOOD),
        (f"sum({of.recorded_stalled})", "stalled", BAD),
    )


def outlook_column(name: str) -> Column:
    return word_column(name, "Outlook", 105, ("in time", GOOD), ("at risk", BAD), ("no estimate", NEUTRAL), ("overdue", BAD))


def outlook(of: Scope, dated: str) -> str:
    """What the column shows, of these translations; to compute which they are costs more than all their dates."""
    late = f"{of.recorded_at_risk} * 0 + 1 or ({of.estimate} > bool {of.due})"
    return f"(({of.due} < time()) * 0 + 3 or {late} or {of.due} * 0 + 2) and {dated}"
