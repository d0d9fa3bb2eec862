"""What the dashboards share: words and panels about translations, and what needs attention."""

from blocks import (
    ACCOUNT_COLUMNS, BAD, COUNT, COUNTS, DAY, GOOD, LEGEND_WITH_LAST, NEUTRAL, PERCENT, RUNBOOK, SECONDS, Column, Line, Panel,
    Query, bad_if_any, column, fixed, lines, link, stat, table, word_column, words,
)
from queries import ACCOUNT, EXPORTER, GAPS, INSTANCE, KNOWN, UP, Scope, at_the_end

DAYS = 24 * 3600
BLANK = "Blank while data of a selected account are missing."


def date_column(name: str, title: str) -> Column:
    return column(name, title, 105, **DAY)


def attention(translations: str) -> Panel:
    """The first thing to read: what the exporter finds wrong, with itself and with these translations, and why figures are blank."""

    def labelled(expr: str, of: str, *, message: str = "") -> str:
        named = f'label_replace({expr}, "kind", "{message}", "", "")' if message else expr
        return f'label_replace({named}, "of", "{of}", "", "")'

    problems = f'translation_exporter_problem{{{EXPORTER}, severity="warning"}}'
    found = [
        labelled(f"({GAPS}) * 0", "", message="Data are missing: totals are blank"),
        labelled(f"count by ({ACCOUNT}) (({UP}) == 0)", "exporters", message="Prometheus cannot scrape"),
        labelled(f"count by (kind, {ACCOUNT}) (max by (kind, {INSTANCE}) ({problems}) == 1)", "exporters"),
        labelled(f"count by (kind, {ACCOUNT}) ({translations})", "translations"),
    ]
    nothing = f"(group({KNOWN}) unless on () ({' or '.join(found)})) * 0"
    messages = [
        *found,
        labelled(
            f"absent({KNOWN}) * 0",
            "",
            message="No exporter is scraped yet: is it on Prometheus' page of targets, and is this the right data source?",
        ),
        labelled(nothing, "", message="No problem is known"),
    ]
    return table(
        "What needs attention",
        "The problems that the exporters find, by kind: with themselves, which their pages explain, and with the selected "
        "translations, which count for a day after the data of a repository are lost. While data of an account are missing, totals are blank, as they would be wrong without these: choose other "
        "jobs to see theirs. A click opens the runbook.",
        [" or ".join(messages)],
        [
            column("kind", "What", links=[link("Open the runbook", f"{RUNBOOK}#runbook", away=True)]),
            column("Value #A", "How many", 90, mappings=words(("", NEUTRAL))),
            column("of", "Of", 105),
            # The rest is for what it says, which is long.
            *(column(name, title, properties["custom__minWidth"]) for name, title, properties in ACCOUNT_COLUMNS),
        ],
        sort="Of",
    )


def top(data: Panel, translations: str, *figures: tuple[Panel, int]) -> list[Line]:
    """The first screen: figures, then what needs attention beside the age of the data."""
    return [(4, list(figures)), (8, [(attention(translations), 18), (data, 6)])]


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
            "Behind: below its target. Stalled, a part of these: without progress for thresholds.stalled_after. Unknown: without a "
            f"completion; these count whichever languages are selected. {BLANK}",
            Query(of.whole(f"sum(1 - {of.ready})"), "behind"),
            Query(of.whole(of.counted(of.problem("stalled"))), "incl. stalled"),
            Query(of.whole(unknown), "unknown"),
            overrides=[bad_if_any("incl. stalled")],
            **COUNT,
        ),
    ]


def mean_completion(of: Scope) -> Panel:
    return stat(
        "Mean completion",
        f"Of all selected translations now, with equal weight, whatever their targets are. {BLANK}",
        Query(of.whole(f"avg(clamp({of.ratio}, 0, 1))"), "now"),
        **PERCENT,
    )


def dates(of: Scope) -> Panel:
    """What is not ready and has a date, as the exporter judges it."""
    judged = of.problems(', kind=~"overdue|at_risk"')
    return stat(
        "Due and not ready",
        "Translations whose target has a date and that are not ready. Overdue: the date has passed. At risk: the date is within "
        f"thresholds.at_risk_within, and at its recent rate the translation will miss it. {BLANK}",
        Query(of.whole(of.counted(of.problem("overdue"))), "overdue"),
        Query(of.whole(of.counted(of.problem("at_risk"))), "at risk"),
        Query(of.whole(of.counted(f"{of.open} unless {judged}")), "others"),
        overrides=[bad_if_any("overdue"), bad_if_any("at risk")],
        **COUNT,
    )


def age_of_data(of: Scope) -> Panel:
    return stat(
        "Oldest data",
        f"How long ago the shown repository whose data are oldest was last read. {BLANK} Gone: the repository that is not shown, "
        "because its data are older than poll.stale_after, and that was read the longest time ago.",
        Query(of.whole(f"max({of.age})"), "ago"),
        Query(f"topk(1, {of.gone_since})", "gone: {{repo}}"),
        overrides=[fixed("/^gone/", BAD)],
        **SECONDS,
    )


def completion_over_time(of: Scope, by_language: str, mean: str, description: str) -> Panel:
    return lines(
        "Completion of the five languages furthest behind",
        f"The five that are furthest behind at the end of the time range, and the mean of all. {description} {BLANK}",
        Query(of.whole(f"{by_language} and bottomk(5, {at_the_end(by_language)})"), "{{language}}"),
        Query(of.whole(mean), "mean"),
        overrides=[fixed("mean", NEUTRAL, custom__lineStyle={"fill": "dash", "dash": [10, 10]})],
        legend=LEGEND_WITH_LAST,
        **PERCENT,
        custom={"axisSoftMax": 1},
    )


def over_time(of: Scope) -> tuple[Panel, Panel]:
    """How many were ready, and how many had which problem."""

    def counts(title: str, description: str, *counted: tuple[str, str, str]) -> Panel:
        return lines(
            title,
            f"{description} {BLANK}",
            *(Query(of.whole(expr), name) for name, _, expr in counted),
            overrides=[fixed(name, color) for name, color, _ in counted],
            stepped=True,
            **COUNTS,
        )

    ready = counts(
        "Ready and not ready",
        "Translations at or above their targets, and all others. All languages count, whichever are selected.",
        ("ready", GOOD, f"sum({of.languages_ready})"),
        ("not ready", NEUTRAL, f"sum({of.served} - {of.languages_ready})"),
    )
    kinds = ("overdue", BAD), ("at_risk", "orange"), ("stalled", "purple"), ("regressed", "yellow")
    problems = counts(
        "Stalled, regressed, overdue and at risk",
        "Translations that are not ready, by what the exporter found wrong with them.",
        *((kind.replace("_", " "), color, of.counted(of.problem(kind))) for kind, color in kinds),
    )
    return ready, problems


def outlook_column(name: str) -> Column:
    return word_column(name, "Outlook", 105, ("open", NEUTRAL), ("at risk", BAD), ("overdue", BAD))


def outlook(of: Scope, dated: str) -> str:
    """What the column shows of these translations."""
    return f"({of.problem('overdue')} * 0 + 2 or {of.problem('at_risk')} * 0 + 1 or {of.due} * 0) and {dated}"
