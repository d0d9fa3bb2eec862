"""The dashboard of all repositories: are we ready, what is due, what is behind, what has stopped, is it true?"""

from blocks import (
    ACCOUNT_COLUMNS, BAD, COUNT, GOOD, HEAT, KEPT, NEUTRAL, NONE_WANTED, SECONDS, TWELVE_ROWS,
    WORK, Column, Json, Panel, Query, Row, address, bad_if_any, colored, column, dashboard, grid, link, override,
    ratio_columns, side_by_side, stat, table, word_column,
)
from queries import ACCOUNT, GAPS, OUT_OF_SCALE, REACHABLE, SUSPECT, WITHOUT_DATA, Scope, in_state, own
from shared import (
    BLANK, DAYS, age_of_data, completion_over_time, date_column, dates, mean_completion, outlook, outlook_column, over_time,
    readiness, top,
)
from variables import ALL_REPOSITORIES

OF = Scope('repo=~"$repo"')
# The account of a row: two accounts may have a repository of the same name.
OF_THE_ROW = [part.replace("${job:queryparam}", "var-job=${__data.fields.Job:percentencode}") for part in KEPT]
REPO_OF_THE_ROW = "var-repo=${__data.fields.Repository:percentencode}"


def to_repository(*variables: str) -> list[Json]:
    return [link("Open the repository", address("translation-repository", *variables))]


REPOSITORY = column("repo", "Repository", 250, links=to_repository(*OF_THE_ROW, REPO_OF_THE_ROW))
LANGUAGE_OF_THE_ROW = "var-language=${__data.fields.Language:percentencode}"
LANGUAGE = column("language", "Language", 85, links=to_repository(*OF_THE_ROW, REPO_OF_THE_ROW, LANGUAGE_OF_THE_ROW))


def repositories() -> Panel:
    ready = f"min by ({OF.by_repository}) ({OF.ready}) == 1 unless {OF.unknown} > 0"
    without = f"sum({WITHOUT_DATA})"
    counted = f'* on () group_left (all) count_values("all", count({OF.served}))'
    return stat(
        "Repositories",
        "Repositories of which every selected language is ready and has a completion; and repositories that are not shown, because "
        f"their data are older than poll.stale_after or were not read yet. {BLANK}",
        Query(OF.whole(f"(count({ready}) or 0 * count({OF.served})) {counted}"), "ready of {{all}}"),
        Query(f"{OF.whole(without)} or {without} > 0", "no data"),
        overrides=[bad_if_any("no data")],
        **COUNT,
    )


def due() -> Panel:
    first = f"bottomk(100, {OF.open})"
    return table(
        "What is due",
        "Translations whose target has a date and that are not ready, the most urgent first. The exporter estimates the "
        "day from what was gained since a reading 7 to 14 days ago; one that does not rise has none. At risk: the date is near, and at "
        "this rate it will be missed. Empty: nothing with a date is open, or data are missing.",
        [
            f"({first} - time()) / {DAYS} {OF.with_url}",
            outlook(OF, first),
            f"{OF.ratio} and {first}",
            f"{OF.target} and {first}",
            f"{OF.estimate} * 1000 and {first}",
        ],
        [
            REPOSITORY,
            LANGUAGE,
            column("Value #A", "Days left", 90, unit="none", decimals=1),
            outlook_column("Value #B"),
            *ratio_columns("Value #C"),
            column("Value #D", "Target", 75, unit="percentunit"),
            date_column("Value #E", "Ready on"),
            WORK,
            *ACCOUNT_COLUMNS,
        ],
        sort="Days left",
        frozen=2,
        without="Nothing that has a date is open, or data are missing.",
    )


def matrix() -> Panel:
    # What is ready is above every ratio, so that it is sorted last. Two clusters may have an account of one name: the worse counts.
    ready, name = 1000, "Repository"
    shown = f"min by (repo, language) ({OF.behind} or {OF.ratio} * 0 + {ready})"
    almost = {"from": 0.995, "to": 1 - 1e-12, "result": {"index": 1, "text": "< 100%"}}
    return grid(
        "Repositories by languages: $job",
        "Completion of each translation that is not ready, and ✓ for each that is; the 200 repositories that are furthest behind, "
        "the worst on top. "
        "An empty cell: the repository does not have the language, or it has no completion. A click opens the repository.",
        [Query(f"{shown} and on (repo) bottomk(200, min by (repo) ({shown}))")],
        {
            "unit": "percentunit",
            "decimals": 0,
            "mappings": [
                {"type": "value", "options": {str(ready): {"index": 0, "text": "✓", "color": "transparent"}}},
                {"type": "range", "options": almost},
                {"type": "special", "options": {"match": "null", "result": {"index": 2, "text": "", "color": "transparent"}}},
            ],
            "links": to_repository(*KEPT, "var-repo=${__data.fields[0]:percentencode}"),
            "custom": {"cellOptions": {"type": "color-background", "mode": "basic"}, "align": "center", "width": 64},
        }
        | colored(HEAT),
        [
            # The columns come in the order of their first cells: by code, in every account.
            {"id": "sortBy", "options": {"sort": [{"field": "language"}]}},
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
        [override(name, custom__width=250, custom__align="left", custom__cellOptions={"type": "auto"})],
        sort="Worst",
        frozen=2,
        # A matrix for each account: two may have a repository of the same name.
        repeat="job",
    )


def languages() -> Panel:
    url = address("translation-progress", *KEPT, "${repo:queryparam}", LANGUAGE_OF_THE_ROW)
    of_each = f"by (language) ({OF.ratio})"
    return table(
        "Languages",
        "The selected repositories in which a language is behind, those that have it, and its mean completion. "
        f"{BLANK}",
        [
            f"{OF.names} and on (language) {OF.ratio}",
            OF.whole(f"sum by (language) (1 - {OF.ready})"),
            OF.whole(f"count {of_each}"),
            OF.whole(f"avg {of_each}"),
        ],
        [
            column("language", "Language", 90, links=[link("Show only this language", url)]),
            column("name", "Name", custom__minWidth=140),
            column("Value #B", "Behind", 75),
            column("Value #C", "Of", 60),
            *ratio_columns("Value #D", without=""),
        ],
        sort="Behind",
        descending=True,
    )


def stopped() -> Panel:
    longest = f"topk(100, {OF.idle} and {OF.behind})"
    return table(
        "Without progress for the longest time",
        "The 100 translations that are not ready and whose completion has not risen for the longest time. The clock starts when "
        "the exporter first sees a language, or sees it fall from complete. Empty: everything is ready, or data are missing.",
        [f"{longest} {OF.with_url}", f"({OF.problem('stalled')} * 0 + 1 or {OF.idle} * 0) and {longest}", f"{OF.ratio} and {longest}"],
        [
            REPOSITORY,
            LANGUAGE,
            column("Value #A", "No progress for", 140, **SECONDS),
            word_column("Value #B", "State", 80, ("behind", NEUTRAL), ("stalled", BAD)),
            *ratio_columns("Value #C"),
            WORK,
            *ACCOUNT_COLUMNS,
        ],
        sort="No progress for",
        descending=True,
        frozen=2,
        without="Everything is ready, or data are missing.",
    )


def accounts() -> Panel:
    def in_states(states: str) -> str:
        return f"sum by ({ACCOUNT}) ({in_state(states)})"

    def none_wanted(name: str, title: str, width: int) -> Column:
        return column(name, title, width, **colored(NONE_WANTED), custom__cellOptions={"type": "color-text"})

    return table(
        "Accounts",
        "API: reachable if the last poll could list the repositories. Read in full: the time since a poll last read everything. "
        "Failing: repositories that are shown although their last read failed; without data: repositories that are not shown. "
        "Scale: suspect if no completion is above 1 although api.completion_scale is, so that all ratios here may be too small.",
        [
            f"{REACHABLE} or {GAPS} * 0 + 2",
            f"time() - ({own('last_success_timestamp_seconds', ACCOUNT)} > 0)",
            in_states("fresh"),
            in_states("failing"),
            WITHOUT_DATA,
            SUSPECT,
            OUT_OF_SCALE,
        ],
        [
            column("job", "Job", custom__minWidth=120),
            word_column("Value #A", "API", 110, ("unreachable", BAD), ("reachable", GOOD), ("not scraped", BAD)),
            column("Value #B", "Read in full", 105, **SECONDS, noValue="never"),
            column("Value #C", "Fresh", 70),
            none_wanted("Value #D", "Failing", 75),
            none_wanted("Value #E", "Without data", 115),
            word_column("Value #F", "Scale", 85, ("plausible", GOOD), ("suspect", BAD)),
            none_wanted("Value #G", "Out of scale", 110),
            *ACCOUNT_COLUMNS[1:],
        ],
        sort="Job",
    )


def read_longest_ago() -> Panel:
    oldest = f"topk(20, time() - {OF.read_at})"
    return table(
        "Repositories read longest ago",
        "The 20 repositories whose languages were last read in full the longest time ago. Gone: these data are not shown any more.",
        [f"{oldest} {OF.with_url}", f"{oldest} * 0 + 1 and {OF.served} or {oldest} * 0"],
        [
            REPOSITORY,
            column("Value #A", "Read", 100, **SECONDS),
            word_column("Value #B", "Its data", 90, ("gone", BAD), ("shown", NEUTRAL)),
            WORK,
            *ACCOUNT_COLUMNS,
        ],
        sort="Read",
        descending=True,
    )


def build() -> Json:
    ready, not_ready = readiness(OF)
    figures = (ready, 4), (not_ready, 6), (repositories(), 5), (dates(OF), 5), (mean_completion(OF), 4)
    mean = f"sum({OF.mean_of_repository} * {OF.served}) / sum({OF.served} and {OF.mean_of_repository})"
    completion = completion_over_time(
        OF,
        f"avg by (language) ({OF.mean_of_language})",
        mean,
        "Each line is the mean of a language over all repositories, whichever are selected; the mean is of all languages of the "
        "selected repositories, where one without a completion counts as much as the mean of its repository.",
    )
    rows = [
        Row("Are we ready to release?", top(age_of_data(OF), OF.problems(more=", kind"), *figures)),
        Row("What is due?", [side_by_side(TWELVE_ROWS, due())]),
        Row("What is behind?", [side_by_side(TWELVE_ROWS, matrix()), side_by_side(TWELVE_ROWS, languages(), completion)]),
        Row(
            "What moves, and what has stopped?",
            [side_by_side(8, *over_time(OF)), side_by_side(TWELVE_ROWS, stopped())],
        ),
        Row("Can these figures be trusted?", [side_by_side(6, accounts()), side_by_side(TWELVE_ROWS, read_longest_ago())]),
    ]
    description = "Which translations are ready, which are due or behind, which have stopped, and whether the figures can be trusted."
    return dashboard("translation-progress", description, ALL_REPOSITORIES, rows, since="now-7d")
