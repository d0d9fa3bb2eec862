"""The dashboard of one repository in depth."""

from blocks import (
    ACCOUNT_COLUMNS, BAD, COUNT, DAY, GOOD, LEGEND_WITH_LAST, NEUTRAL, SECONDS, TWELVE_ROWS, WORK, Json, Panel, Query,
    Row, column, dashboard, lines, override, ratio_columns, side_by_side, stat, table, word_column, words,
)
from queries import Scope, at_the_end, fold
from shared import (
    BLANK, DAYS, age_of_data, completion_over_time, date_column, dates, mean_completion, outlook, outlook_column, over_time,
    readiness, top,
)
from variables import ONE_REPOSITORY, readiness_events

OF = Scope('repo="$repository"', one=True)


def languages() -> Panel:
    named = f"({OF.ratio} or {OF.target}) * 0 + on (language) group_left (name) {OF.names}"
    unknown = f"({OF.target} unless {OF.ratio})"
    # 0 behind, 1 stalled, 2 regressed, 3 ready; 4 if it has no completion, but a target above 0.
    judged = f"{OF.problem('regressed')} * 0 + 2 or {OF.problem('stalled')} * 0 + 1"
    state = f"({judged}) and {OF.ratio} or 3 * {OF.ready} or 4 - ({unknown} == bool 0)"
    return table(
        "Languages",
        "Completion, target, clock and outlook of each language, the one furthest behind first. The exporter estimates the day "
        "from what was gained since a reading 7 to 14 days ago; a language that does not rise has none. One without a completion is listed if it has a target.",
        [
            named,
            state,
            OF.ratio,
            f"{OF.goal} or {OF.target}",
            OF.idle,
            f"{OF.estimate} * 1000",
            f"({OF.open} - time()) / {DAYS}",
            outlook(OF, OF.open),
        ],
        [
            column("language", "Language", 90),
            column("name", "Name", 180),
            word_column("Value #B", "State", 90, ("behind", NEUTRAL), ("stalled", BAD), ("regressed", BAD), ("ready", GOOD), ("unknown", NEUTRAL)),
            *ratio_columns("Value #C"),
            column("Value #D", "Target", 75, unit="percentunit"),
            column("Value #E", "No progress for", 140, **SECONDS),
            date_column("Value #F", "Ready on"),
            column("Value #G", "Days left", 90, unit="none", decimals=1),
            outlook_column("Value #H"),
            *ACCOUNT_COLUMNS,
        ],
        sort="Completion",
    )


def forecast() -> Panel:
    # What takes the place of a day: 1 while none of those behind rises, 2 while none is behind.
    instead_of_a_day = words(("", NEUTRAL), ("none rises", NEUTRAL), ("all ready", GOOD))
    instead = f"1 + (({OF.counted(OF.behind)}) == bool 0)"
    return stat(
        "Forecast",
        "The day on which the last rising language will be ready as the exporter estimates it, and how many languages that are behind do "
        f"not rise. {BLANK}",
        Query(OF.whole(f"max({OF.estimate}) * 1000 or {instead}"), "last one ready"),
        Query(OF.whole(OF.counted(f"{OF.behind} unless {OF.estimate}")), "not rising"),
        overrides=[override("last one ready", **DAY, mappings=instead_of_a_day)],
        **COUNT,
    )


def idle() -> Panel:
    clock = f"{OF.clock} and {OF.behind}"
    longest = f"bottomk(5, {at_the_end(clock)})"
    return lines(
        "Time since the last progress",
        "The time for which a language that was not ready had not risen: the five longest at the end of the time range. A line "
        f"that only climbs is a language that nobody works on. {BLANK}",
        Query(OF.whole(f"max by (language) (time() - ({clock}) and {longest})"), "{{language}}"),
        legend=LEGEND_WITH_LAST,
        noValue="No language is behind, or data are missing.",
        **SECONDS,
        min=0,
    )


def about() -> Panel:
    labels = f"{OF.by_repository}, id, private, url"
    return table(
        "The repository",
        "The API's entry of the repository itself, and the time since its languages were last read in full.",
        [
            fold("max", "translation_repository_info", labels, OF.repository),
            f"{fold('max', 'translation_repository_created_timestamp_seconds', OF.by_repository, OF.repository)} * 1000",
            OF.served,
            f"time() - {OF.read_at}",
        ],
        [
            column("repo", "Repository", 250),
            column("id", "Id", 130, unit="string"),
            column("private", "Private", 90),
            date_column("Value #B", "Created"),
            column("Value #C", "Languages", 100),
            column("Value #D", "Read", 100, **SECONDS),
            WORK,
            *ACCOUNT_COLUMNS,
        ],
        sort="Repository",
    )


def build() -> Json:
    ready, not_ready = readiness(OF)
    figures = (ready, 4), (not_ready, 6), (dates(OF), 4), (mean_completion(OF), 4), (forecast(), 6)
    history = completion_over_time(OF, f"avg by (language) ({OF.ratio})", f"avg({OF.ratio})", "A fall is new text to translate."), idle()
    rows = [
        Row("Is it ready to release? $repository", [*top(age_of_data(OF), OF.problems(more=", kind"), *figures), side_by_side(TWELVE_ROWS, languages())]),
        Row("How has it moved?", [side_by_side(9, *history), side_by_side(7, *over_time(OF))]),
        Row("Which repository is this?", [side_by_side(4, about())]),
    ]
    description = "One repository in depth: each of its languages, how it has progressed, and when it will be ready."
    return dashboard("translation-repository", description, ONE_REPOSITORY, rows, since="now-7d", events=readiness_events(OF))
