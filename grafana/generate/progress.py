"""The dashboard of all repositories: are we ready, what is behind, what has stopped, when is it done, is it true?"""

from blocks import (
    BAD,
    GOOD,
    KEPT,
    NEUTRAL,
    SHADES,
    Column,
    Json,
    Panel,
    Query,
    Row,
    bars,
    column,
    dashboard,
    fields,
    grid,
    lines,
    link,
    override,
    stat,
    table,
)
from figures import (
    DATE,
    PERCENT,
    age_of_data,
    api_reachable,
    completion_column,
    completion_over_time,
    counts,
    mean_completion,
    minimum_completion,
    progress_columns,
    scale_plausible,
    six,
    stalled_languages,
    unwanted,
)
from queries import (
    CLOCK,
    ESTIMATE,
    EXPORTER,
    IDLE,
    RATIO,
    READ_AT,
    RECORDED_RATIO,
    RECORDED_REPOSITORY,
    REPOSITORY,
    STALLED,
    fold,
    least_at_the_end,
)
from variables import ALL_REPOSITORIES, completion_events

# The account of a row: two accounts may have a repository of the same name.
OF_THE_ROW = [part.replace("${job:queryparam}", "var-job=${__data.fields.Job:percentencode}") for part in KEPT]
REPO_OF_THE_ROW = "var-repo=${__data.fields.Repository:percentencode}"


def to_repository(title: str, *variables: str) -> list[Json]:
    return [link(title, "translation-repository", *variables, "${stalled_after:queryparam}")]


def row_columns() -> list[Column]:
    """The account, repository and language of a row, with links."""
    language = "var-language=${__data.fields.Language:percentencode}"
    open_language = to_repository("Open the language in its repository", *OF_THE_ROW, REPO_OF_THE_ROW, language)
    return [
        column("job", "Job", custom__minWidth=120),
        column(
            "repo",
            "Repository",
            links=to_repository("Open the repository", *OF_THE_ROW, REPO_OF_THE_ROW),
            custom__minWidth=160,
        ),
        column("language", "Language", links=open_language, custom__width=110),
    ]


def ready() -> list[tuple[Panel, int]]:
    return six(
        mean_completion(
            "Completion averaged over all selected languages of all selected repositories, with equal weight. Blue only at 100 %."
        ),
        minimum_completion(
            "Completion of the language that is furthest behind. Blue means that everything selected is complete."
        ),
        counts(
            "Languages complete",
            "How many languages are complete, and how many report a completion at all; a language counts once for each repository.",
            Query(f"sum({RATIO} >= bool 1)", "complete"),
            Query(f"count({RATIO})", "in total"),
        ),
        counts(
            "Repositories ready",
            "How many repositories have all selected languages complete, and how many have a language with a completion at all.",
            Query(f"sum(min without (language) ({RATIO}) >= bool 1)", "ready"),
            Query(f"count(min without (language) ({RATIO}))", "in total"),
        ),
        stalled_languages(),
        age_of_data(
            "Time since the last read of the repository with the oldest data shown here. Data older than poll.stale_after are not shown at all.",
        ),
    )


def matrix() -> Panel:
    key = "repo\\language"
    panel = grid(
        "Repositories by languages: $job",
        "Completion of each language in each repository of a job: the 200 repositories that are furthest behind, worst first. "
        "An empty cell: the repository does not have the language, or it reports no completion. A click opens the repository.",
        [Query(f"{RATIO} and ignoring (language) bottomk(200, min without (language) ({RATIO}))")],
        fields(
            **PERCENT,
            steps=SHADES,
            links=to_repository("Open the repository", *KEPT, "var-repo=${__data.fields[0]:percentencode}"),
            custom={"cellOptions": {"type": "color-background", "mode": "basic"}, "align": "center", "minWidth": 70},
        ),
        transformations=[
            {
                "id": "groupingToMatrix",
                "options": {"columnField": "language", "rowField": "repo", "valueField": "Value", "emptyValue": "null"},
            },
            {
                "id": "calculateField",
                "options": {
                    "mode": "reduceRow",
                    "reduce": {"reducer": "min"},
                    "alias": "Minimum",
                    "replaceFields": False,
                },
            },
        ],
        overrides=[
            override(
                key,
                displayName="Repository",
                custom__width=260,
                custom__align="left",
                custom__cellOptions={"type": "auto"},
            ),
            override("Minimum", custom__width=100),
        ],
        sort="Minimum",
    )
    # A matrix for each account: two may have a repository of the same name.
    panel.repeat = "job"
    return panel


def behind() -> list[tuple[int, list[tuple[Panel, int]]]]:
    languages = bars(
        "Languages, worst first",
        "Completion of each language, averaged over the selected repositories that have it; the 30 furthest behind. A click shows only that language.",
        Query(f"sort(bottomk(30, avg without (repo) ({RATIO})))", "{{language}} ({{job}})"),
        fields(
            **PERCENT,
            steps=SHADES,
            min=0,
            max=1,
            links=[
                link(
                    "Show only this language",
                    "translation-progress",
                    *KEPT,
                    "${repo:queryparam}",
                    "${stalled_after:queryparam}",
                    "var-language=${__field.labels.language:percentencode}",
                )
            ],
        ),
    )
    mean = f"avg without (repo) ({RECORDED_RATIO})"
    over_time = completion_over_time(
        "Completion by language",
        "Completion of each language over time, averaged over the selected repositories; the 20 furthest behind at the end of the time range.",
        least_at_the_end(20, mean, f"avg without (repo) ({RECORDED_RATIO} @ end())"),
        "{{language}} ({{job}})",
    )
    return [(14, [(matrix(), 24)]), (11, [(languages, 8), (over_time, 16)])]


def stopped() -> list[tuple[int, list[tuple[Panel, int]]]]:
    longest = f"topk(100, {IDLE} and {RATIO} < 1)"
    rows = table(
        "Incomplete languages by the time since their last progress",
        "The 100 incomplete languages whose completion has not risen for the longest time. The clock starts when the exporter first sees a language, or sees it fall from complete.",
        [
            Query(longest),
            Query(f"{RATIO} and {longest}"),
            Query(f"{CLOCK} * 1000 and {longest}"),
            Query(f"{STALLED} and {longest}"),
        ],
        [
            *row_columns(),
            *progress_columns("Value #D", "Value #A", "Value #C"),
            completion_column("Value #B", custom__minWidth=160),
        ],
        sort="No progress for",
        descending=True,
    )
    counts = lines(
        "Languages complete and stalled",
        "How many languages of the selected repositories were complete, and how many incomplete ones had not risen for 7 days. All languages count, whichever are selected.",
        [
            Query(f"sum(repo:translation_languages_complete:count{{{RECORDED_REPOSITORY}}})", "complete"),
            Query(f"sum(repo:translation_languages_stalled:count{{{RECORDED_REPOSITORY}}})", "stalled"),
        ],
        fields(unit="short", min=0, decimals=0),
        overrides=[
            override("complete", color={"mode": "fixed", "fixedColor": GOOD}),
            override("stalled", color={"mode": "fixed", "fixedColor": BAD}),
        ],
        stepped=True,
    )
    return [(10, [(rows, 16), (counts, 8)])]


def done() -> list[tuple[int, list[tuple[Panel, int]]]]:
    latest = f"topk(100, {ESTIMATE})"
    rows = table(
        "Estimated completion",
        "When each language will be complete if it continues as in the last 14 days; the 100 that take longest. A language that is complete or does not rise has no estimate.",
        [Query(f"{latest} * 1000"), Query(f"{RECORDED_RATIO} and {latest}"), Query(f"{latest} - time()")],
        [
            *row_columns(),
            column("Value #A", "Complete on", **DATE),
            column("Value #C", "In", unit="s", decimals=1, custom__width=100),
            completion_column("Value #B", custom__minWidth=120),
        ],
        sort="Complete on",
        descending=True,
    )
    mean = f"avg without (language) ({RECORDED_RATIO})"
    over_time = completion_over_time(
        "Completion by repository",
        "Completion of each repository over time, averaged over the selected languages; the 20 furthest behind at the end of the time range.",
        least_at_the_end(20, mean, f"avg without (language) ({RECORDED_RATIO} @ end())"),
        "{{repo}} ({{job}})",
    )
    return [(11, [(over_time, 12), (rows, 12)])]


def trust() -> list[tuple[int, list[tuple[Panel, int]]]]:
    states = fold("max", "translation_exporter_repositories", EXPORTER)
    figures = six(
        api_reachable(
            "Whether the last poll could list the repositories. Unreachable: the data shown were read before."
        ),
        scale_plausible(
            "Suspect: something is above 0 and nothing is above 1 although api.completion_scale is above 1, so the API seems to report 0 to 1 and all ratios here are too small."
        ),
        unwanted(
            "Out of scale",
            "Languages whose completion is below 0 or above api.completion_scale. They are shown as reported.",
            f"sum({fold('max', 'translation_exporter_completion_out_of_scale', EXPORTER)})",
        ),
    )
    by_state = stat(
        "Repositories by state",
        "Fresh: the last read succeeded. Failing: it failed, the last good data are shown. Stale: the data are gone. Pending: not read yet. Filtered: left out by the configuration. With replicas, the largest number counts.",
        [Query(f"sum by (state) ({states})", "{{state}}")],
        fields(unit="short", steps=NEUTRAL),
        textMode="value_and_name",
        orientation="vertical",
    )
    last_read = lines(
        "Time since each repository was last read",
        "How old the data of each selected repository were; the 20 oldest at the end of the time range. A line that climbs is a repository whose reads fail.",
        [
            Query(
                f"(time() - {READ_AT}) and bottomk(20, {fold('max', 'translation_repository_last_success_timestamp_seconds', REPOSITORY, at_the_end=True)})",
                "{{repo}} ({{job}})",
            )
        ],
        fields(unit="s", min=0),
        legend=("lastNotNull", "max"),
    )
    return [(4, [*figures, (by_state, 12)]), (9, [(last_read, 24)])]


def build() -> Json:
    rows = [
        Row("Are we ready to release?", [(4, ready())]),
        Row("What is behind?", behind()),
        Row("What has stopped moving, and since when?", stopped()),
        Row("When will it be done?", done()),
        Row("Can these figures be trusted?", trust()),
    ]
    return dashboard(
        "translation-progress",
        "Translation progress",
        "Which translations are behind, which have stopped, when they will be done, and whether the figures can be trusted.",
        ALL_REPOSITORIES,
        completion_events(shown=False),
        rows,
        since="now-7d",
    )
