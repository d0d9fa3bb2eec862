"""The dashboard of one repository in depth."""

from blocks import (
    ACCOUNT_COLUMNS, BAD, GOOD, NEUTRAL, SECONDS, Json, Panel, Query, Row, column, dashboard, date_column, lines,
    ratio_column, stat, table, to_dashboard, word_column,
)
from queries import Scope, at_the_end, fold
from shared import DAYS, age_of_data, completion_over_time, counts_over_time, dates, mean_completion, translations
from variables import ONE_REPOSITORY, readiness_events

OF = Scope('repo="$repository"')


def languages() -> Panel:
    named = f"({OF.ratio} or {OF.target}) * 0 + on (language) group_left (name) {OF.names}"
    unknown = f"({OF.target} unless {OF.ratio})"
    # 0 behind, 1 stalled, 2 ready; 3 if it has no completion, but a target above 0.
    state = f"2 * {OF.ready} + {OF.stalled} or 3 - ({unknown} == bool 0)"
    return table(
        "Languages",
        "All that is known of each language, the one furthest behind first. The estimate assumes the rate of the last 14 days; "
        "a language that does not rise has none. One without a completion is listed if it has a target.",
        [
            Query(named),
            Query(state),
            Query(OF.ratio),
            Query(f"{OF.goal} or {OF.target}"),
            Query(OF.idle),
            Query(f"{OF.estimate} * 1000"),
            Query(f"({OF.due} - time()) / {DAYS}"),
        ],
        [
            column("language", "Language", 90),
            column("name", "Name", custom__minWidth=130),
            word_column("Value #B", "State", 80, ("behind", NEUTRAL), ("stalled", BAD), ("ready", GOOD), ("unknown", NEUTRAL)),
            ratio_column("Value #C", "Completion", 170),
            column("Value #D", "Target", 75, unit="percentunit"),
            column("Value #E", "No progress for", 150, **SECONDS),
            date_column("Value #F", "Ready on"),
            column("Value #G", "Days left", 90, unit="none", decimals=1),
            *ACCOUNT_COLUMNS,
        ],
        sort="Completion",
    )


def ready_on() -> Panel:
    return stat(
        "Last one ready",
        "When the last of the rising languages will be ready if they continue as in the last 14 days. Languages that do not rise "
        "are left out: see those stalled. No data: nothing rises, or the recording rules are not loaded.",
        Query(f"max({OF.estimate}) * 1000"),
        unit="dateTimeFromNow",
    )


def idle() -> Panel:
    clock = f"{OF.recorded_clock} and {OF.recorded_missing}"
    longest = f"bottomk(5, {at_the_end(clock)})"
    return lines(
        "Time since the last progress",
        "How long each language that was not ready had not risen; the five for which it is longest at the end of the time range. "
        "A line that only climbs is a language that nobody works on.",
        Query(f"max by (language) (time() - ({clock}) and {longest})", "{{language}}"),
        last=True,
        **SECONDS,
        min=0,
    )


def about() -> Panel:
    labels = f"{OF.by_repository}, id, private"
    return table(
        "The repository",
        "What the API says about the repository itself, and when its languages were last read in full.",
        [
            Query(fold("max", "translation_repository_info", labels, OF.repository)),
            Query(f"{fold('max', 'translation_repository_created_timestamp_seconds', OF.by_repository, OF.repository)} * 1000"),
            Query(OF.served),
            Query(f"time() - {OF.read_at}"),
        ],
        [
            column("repo", "Repository", custom__minWidth=170),
            column("id", "Id", 130, unit="string"),
            column("private", "Private", 90),
            date_column("Value #B", "Created"),
            column("Value #C", "Languages", 100),
            column("Value #D", "Read", 100, **SECONDS),
            *ACCOUNT_COLUMNS,
        ],
        sort="Repository",
    )


def build() -> Json:
    figures = [
        (translations(OF), 6),
        (dates(OF), 5),
        (mean_completion(OF), 4),
        (ready_on(), 4),
        (age_of_data(OF), 5),
    ]
    rows = [
        Row("Is $repository ready to release?", [(4, figures), (12, [(languages(), 24)])]),
        Row("How has it moved?", [(10, [(completion_over_time(OF.recorded_ratio), 8), (idle(), 8), (counts_over_time(OF), 8)])]),
        Row("Which repository is this?", [(4, [(about(), 24)])]),
    ]
    return dashboard(
        "translation-repository",
        "Translation of a repository",
        "One repository in depth: each of its languages, how it has progressed, and when it will be ready.",
        ONE_REPOSITORY,
        rows,
        since="now-7d",
        links=[
            to_dashboard(
                "Translation progress", "translation-progress", "${language:queryparam}", "${stalled_after:queryparam}"
            ),
            to_dashboard("Translation exporter", "translation-exporter"),
        ],
        events=readiness_events(OF),
    )
