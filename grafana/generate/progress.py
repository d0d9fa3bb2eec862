"""The dashboard of all repositories: are we ready, what is due, what is behind, what has stopped, is it true?"""

from blocks import (
    ACCOUNT_COLUMNS, BAD, COUNT, COUNTS, GOOD, HEAT, KEPT, NEUTRAL, NONE_WANTED, POINTS_OF_ALL_LANGUAGES, SECONDS,
    Column, Json, Panel, Query, Row, colored, column, dashboard, date_column, fixed, grid, lines, link, override,
    ratio_column, stat, table, to_dashboard, word_column,
)
from queries import ACCOUNT, EXPORTER, OUT_OF_SCALE, REACHABLE, SUSPECT, WITHOUT_DATA, Scope, at_the_end, own
from shared import DAYS, age_of_data, completion_over_time, counts_over_time, dates, mean_completion, translations
from variables import ALL_REPOSITORIES

OF = Scope('repo=~"$repo"')
# The account of a row: two accounts may have a repository of the same name.
OF_THE_ROW = [part.replace("${job:queryparam}", "var-job=${__data.fields.Job:percentencode}") for part in KEPT]
REPO_OF_THE_ROW = "var-repo=${__data.fields.Repository:percentencode}"


def to_repository(title: str, *variables: str) -> list[Json]:
    return [link(title, "translation-repository", *variables, "${stalled_after:queryparam}")]


REPOSITORY = column(
    "repo",
    "Repository",
    links=to_repository("Open the repository", *OF_THE_ROW, REPO_OF_THE_ROW),
    custom__minWidth=170,
)
LANGUAGE = column(
    "language",
    "Language",
    85,
    links=to_repository(
        "Open the language in its repository",
        *OF_THE_ROW,
        REPO_OF_THE_ROW,
        "var-language=${__data.fields.Language:percentencode}",
    ),
)


def repositories() -> Panel:
    ready = f"min by ({OF.by_repository}) ({OF.ready}) == 1 unless {OF.unknown} > 0"
    return stat(
        "Repositories",
        "How many have all selected languages ready, and no language without a completion; how many are shown at all; and how "
        "many are not, because their data are older than poll.stale_after or were not read yet.",
        Query(f"count({ready}) or 0 * count({OF.served})", "ready"),
        Query(f"count({OF.served})", "in total"),
        Query(WITHOUT_DATA, "no data"),
        overrides=[override("no data", **colored(NONE_WANTED))],
        **COUNT,
    )


def due() -> Panel:
    first = f"bottomk(100, {OF.open})"
    # 0 if the estimate is no later than the date, 1 if it is; without an estimate 2, or 3 if the date has passed.
    outlook = f"({OF.estimate} > bool {first}) or 2 + ({first} < bool time())"
    return table(
        "What is due",
        "Translations whose target has a date and that are not ready, the most urgent first. The estimate assumes the rate of "
        "the last 14 days; one that does not rise has none, nor is there one where the recording rules are not loaded.",
        [
            Query(f"({first} - time()) / {DAYS}"),
            Query(outlook),
            Query(f"{OF.ratio} and {first}"),
            Query(f"{OF.target} and {first}"),
            Query(f"{OF.estimate} * 1000 and {first}"),
        ],
        [
            REPOSITORY,
            LANGUAGE,
            column("Value #A", "Days left", 90, unit="none", decimals=1),
            word_column(
                "Value #B",
                "Outlook",
                100,
                ("in time", GOOD),
                ("too late", BAD),
                ("no estimate", NEUTRAL),
                ("missed", BAD),
            ),
            ratio_column("Value #C", "Completion", 150),
            column("Value #D", "Target", 75, unit="percentunit"),
            date_column("Value #E", "Ready on"),
            *ACCOUNT_COLUMNS,
        ],
        sort="Days left",
        frozen=2,
    )


def burn_down() -> Panel:
    dated = at_the_end(OF.recorded_due)
    none = f"0 * count({dated})"
    return lines(
        "Left of what has a date",
        "How many of the translations that have a date now were not ready, and for how many dates had passed: the line has to "
        "reach 0 by the date.",
        Query(f"count({OF.recorded_missing} and {dated}) or {none}", "not ready"),
        Query(f"count({OF.recorded_missed}) or {none}", "date missed"),
        overrides=[fixed("not ready", GOOD), fixed("date missed", BAD)],
        points=POINTS_OF_ALL_LANGUAGES,
        stepped=True,
        **COUNTS,
    )


def matrix() -> Panel:
    # What is ready is above every ratio, so that it is sorted last. Two clusters may have an account of one name: the worse counts.
    ready, name = 1000, "Repository"
    shown = f"min by (repo, language) ({OF.behind} or {OF.ratio} * 0 + {ready})"
    almost = {"from": 0.995, "to": 1 - 1e-12, "result": {"index": 1, "text": "< 100%"}}
    panel = grid(
        "Repositories by languages: $job",
        "Completion of what is not ready, and ✓ where it is; the 200 repositories that are furthest behind, the worst on top and "
        "to the left. An empty cell: the repository does not have the language, or it has no completion. A click opens the repository.",
        [Query(f"{shown} and on (repo) bottomk(200, min by (repo) ({shown}))")],
        {
            "unit": "percentunit",
            "decimals": 0,
            "mappings": [
                {"type": "value", "options": {str(ready): {"index": 0, "text": "✓", "color": "transparent"}}},
                {"type": "range", "options": almost},
                {"type": "special", "options": {"match": "null", "result": {"index": 2, "text": "", "color": "transparent"}}},
            ],
            "links": to_repository("Open the repository", *KEPT, "var-repo=${__data.fields[0]:percentencode}"),
            "custom": {"cellOptions": {"type": "color-background", "mode": "basic"}, "align": "center", "width": 64},
        }
        | colored(HEAT),
        transformations=[
            # The columns come in the order of their first cells.
            {"id": "sortBy", "options": {"sort": [{"field": "Value"}]}},
            {
                "id": "groupingToMatrix",
                "options": {"columnField": "language", "rowField": "repo", "valueField": "Value", "emptyValue": "null"},
            },
            {
                "id": "calculateField",
                "options": {"mode": "reduceRow", "reduce": {"reducer": "min"}, "alias": "Worst", "replaceFields": False},
            },
            {
                "id": "organize",
                "options": {"indexByName": {"repo\\language": 0, "Worst": 1}, "renameByName": {"repo\\language": name}},
            },
        ],
        overrides=[override(name, custom__width=220, custom__align="left", custom__cellOptions={"type": "auto"})],
        sort="Worst",
        frozen=2,
    )
    # A matrix for each account: two may have a repository of the same name.
    panel.repeat = "job"
    return panel


def languages() -> Panel:
    link_to = link(
        "Show only this language",
        "translation-progress",
        *KEPT,
        "${repo:queryparam}",
        "var-language=${__data.fields.Language:percentencode}",
    )
    of_each = f"by (language) ({OF.ratio})"
    return table(
        "Languages",
        "In how many of the selected repositories each language is behind, of how many that have it, and its mean completion.",
        [
            Query(f"{OF.names} and on (language) {OF.ratio}"),
            Query(f"sum by (language) (1 - {OF.ready})"),
            Query(f"count {of_each}"),
            Query(f"avg {of_each}"),
        ],
        [
            column("language", "Language", 90, links=[link_to]),
            column("name", "Name"),
            column("Value #B", "Behind", 75),
            column("Value #C", "Of", 60),
            ratio_column("Value #D", "Mean completion", 160),
        ],
        sort="Behind",
        descending=True,
    )


def stopped() -> Panel:
    longest = f"topk(100, {OF.idle} and {OF.behind})"
    return table(
        "Without progress for the longest time",
        "The 100 translations that are not ready and whose completion has not risen for the longest time. The clock starts when "
        "the exporter first sees a language, or sees it fall from complete.",
        [
            Query(longest),
            Query(f"{longest} > bool $stalled_after"),
            Query(f"{OF.ratio} and {longest}"),
        ],
        [
            REPOSITORY,
            LANGUAGE,
            column("Value #A", "No progress for", 150, **SECONDS),
            word_column("Value #B", "State", 80, ("behind", NEUTRAL), ("stalled", BAD)),
            ratio_column("Value #C", "Completion", 150),
            *ACCOUNT_COLUMNS,
        ],
        sort="No progress for",
        descending=True,
        frozen=2,
    )


def trust() -> list[Panel]:
    def in_state(states: str) -> Query:
        each = f'max by ({ACCOUNT}, state) (translation_exporter_repositories{{{EXPORTER}, state=~"{states}"}})'
        return Query(f"sum by ({ACCOUNT}) ({each})")

    def bad_if_any(name: str, title: str, width: int) -> Column:
        return column(name, title, width, **colored(NONE_WANTED), custom__cellOptions={"type": "color-text"})

    read = f"{own('last_success_timestamp_seconds', ACCOUNT)} > 0"
    accounts = table(
        "Accounts",
        "Whether the last poll could list the repositories, when a poll last read everything, how many repositories have fresh "
        "data, how many are shown although their last read failed, and how many are not shown. Scale: suspect if nothing is above "
        "1 although api.completion_scale is above 1, so that all ratios here may be too small.",
        [
            Query(REACHABLE),
            Query(f"time() - ({read})"),
            in_state("fresh"),
            in_state("failing"),
            in_state("stale|pending"),
            Query(SUSPECT),
            Query(OUT_OF_SCALE),
        ],
        [
            column("job", "Job"),
            word_column("Value #A", "API", 105, ("unreachable", BAD), ("reachable", GOOD)),
            column("Value #B", "Read in full", 105, **SECONDS, noValue="never"),
            column("Value #C", "Fresh", 70),
            bad_if_any("Value #D", "Failing", 75),
            bad_if_any("Value #E", "Without data", 115),
            word_column("Value #F", "Scale", 85, ("plausible", GOOD), ("suspect", BAD)),
            bad_if_any("Value #G", "Out of scale", 110),
            *ACCOUNT_COLUMNS[1:],
        ],
        sort="Job",
    )
    oldest = f"topk(20, time() - {OF.read_at})"
    repositories = table(
        "Repositories read longest ago",
        "The 20 whose languages were last read in full the longest time ago, and whether these data are still shown.",
        [Query(oldest), Query(f"{oldest} * 0 + 1 and {OF.served} or {oldest} * 0")],
        [
            REPOSITORY,
            column("Value #A", "Read", 100, **SECONDS),
            word_column("Value #B", "Its data", 90, ("gone", BAD), ("shown", NEUTRAL)),
            *ACCOUNT_COLUMNS,
        ],
        sort="Read",
        descending=True,
    )
    return [accounts, repositories]


def build() -> Json:
    figures = [(translations(OF), 6), (repositories(), 5), (dates(OF), 4), (mean_completion(OF), 4), (age_of_data(OF), 5)]
    rows = [
        Row("Are we ready to release?", [(4, figures)]),
        Row("What is due?", [(8, [(due(), 24)])]),
        Row("What is behind?", [(12, [(matrix(), 24)]), (10, [(languages(), 12), (completion_over_time(OF.recorded_ratio_10m), 12)])]),
        Row(
            "What moves, and what has stopped?",
            [(8, [(counts_over_time(OF), 12), (burn_down(), 12)]), (8, [(stopped(), 24)])],
        ),
        Row("Can these figures be trusted?", [(height, [(panel, 24)]) for height, panel in zip((5, 8), trust(), strict=True)]),
    ]
    of_these = ["${language:queryparam}", "${stalled_after:queryparam}"]
    return dashboard(
        "translation-progress",
        "Translation progress",
        "Which translations are ready, which are due or behind, which have stopped, and whether the figures can be trusted.",
        ALL_REPOSITORIES,
        rows,
        since="now-7d",
        links=[
            to_dashboard("Translation of a repository", "translation-repository", "${repo:queryparam}", *of_these),
            to_dashboard("Translation exporter", "translation-exporter"),
        ],
    )
