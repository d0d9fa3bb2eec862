"""The dashboard of one repository in depth."""

from blocks import (
    NEUTRAL,
    SHADES,
    Json,
    Panel,
    Query,
    Row,
    bars,
    column,
    dashboard,
    fields,
    lines,
    stat,
    table,
    words,
)
from figures import (
    DATE,
    PERCENT,
    age_of_data,
    completion_column,
    completion_over_time,
    counts,
    mean_completion,
    minimum_completion,
    progress_columns,
    six,
    stalled_languages,
)
from queries import (
    CLOCK,
    ESTIMATE,
    IDLE,
    LANGUAGE,
    RATIO,
    READ_AT,
    RECORDED_CLOCK,
    RECORDED_RATIO,
    REPOSITORY,
    SERVED,
    STALLED,
    fold,
    least_at_the_end,
)
from variables import ONE_REPOSITORY, completion_events


def ready() -> list[tuple[Panel, int]]:
    return six(
        mean_completion("Completion averaged over the selected languages. Blue only at 100 %."),
        minimum_completion(
            "Completion of the language that is furthest behind. Blue means that all selected languages are complete."
        ),
        counts(
            "Languages complete",
            "How many of the selected languages are complete, how many of them report a completion, and how many languages are configured for the repository.",
            Query(f"sum({RATIO} >= bool 1)", "complete"),
            Query(f"count({RATIO})", "measured"),
            Query(f"sum({SERVED})", "configured"),
        ),
        stalled_languages(),
        stat(
            "Estimated completion",
            "When the last of the rising languages will be complete if they continue as in the last 14 days. Languages that do not rise are left out: see those stalled.",
            [Query(f"max({ESTIMATE}) * 1000")],
            fields(unit="dateTimeFromNow", steps=NEUTRAL, noValue="nothing rises"),
        ),
        age_of_data(
            "How long ago the languages of the repository were last read in full. Data older than poll.stale_after are not shown at all.",
        ),
    )


def languages() -> Panel:
    return table(
        "Languages",
        "All that is known of each language, the one furthest behind first. The estimate assumes the rate of the last 14 days; a language that does not rise has none.",
        [
            Query(fold("max", "translation_language_info", LANGUAGE)),
            Query(RATIO),
            Query(IDLE),
            Query(f"{CLOCK} * 1000"),
            Query(STALLED),
            Query(f"{ESTIMATE} * 1000"),
        ],
        [
            column("job", "Job", custom__minWidth=120),
            column("language", "Language", custom__width=110),
            column("name", "Name", custom__minWidth=140),
            completion_column("Value #B", custom__minWidth=240),
            *progress_columns("Value #E", "Value #C", "Value #D"),
            column("Value #F", "Complete on", **DATE),
        ],
        sort="Completion",
    )


def behind() -> list[tuple[int, list[tuple[Panel, int]]]]:
    worst = bars(
        "Languages, worst first",
        "Completion of each language of the repository; the 30 furthest behind.",
        Query(f"sort(bottomk(30, {RATIO}))", "{{language}} ({{job}})"),
        fields(**PERCENT, steps=SHADES, min=0, max=1),
    )
    over_time = completion_over_time(
        "Completion by language",
        "Completion of each language over time; the 20 furthest behind at the end of the time range. A drop means new text to translate.",
        least_at_the_end(20, RECORDED_RATIO, f"{RECORDED_RATIO} @ end()"),
        "{{language}} ({{job}})",
    )
    return [(12, [(languages(), 24)]), (11, [(worst, 8), (over_time, 16)])]


def stopped() -> list[tuple[int, list[tuple[Panel, int]]]]:
    longest = f"bottomk(20, {RECORDED_CLOCK} @ end() and {RECORDED_RATIO} @ end() < 1)"
    idle = lines(
        "Time since the last progress",
        "How long each incomplete language had not risen; the 20 for which it is longest at the end of the time range. A line that only climbs is a language that nobody works on.",
        [Query(f"(time() - {RECORDED_CLOCK}) and {RECORDED_RATIO} < 1 and {longest}", "{{language}} ({{job}})")],
        fields(unit="s", min=0),
        legend=("lastNotNull", "max"),
    )
    return [(9, [(idle, 24)])]


def trust() -> list[tuple[int, list[tuple[Panel, int]]]]:
    about = table(
        "The repository",
        "What the API says about the repository itself, and when its languages were last read in full.",
        [
            Query(fold("max", "translation_repository_info", REPOSITORY)),
            Query(f"{fold('max', 'translation_repository_created_timestamp_seconds', REPOSITORY)} * 1000"),
            Query(SERVED),
            Query(f"{READ_AT} * 1000"),
        ],
        [
            column("job", "Job", custom__minWidth=120),
            column("repo", "Repository", custom__minWidth=160),
            column("id", "Id", unit="string"),
            column(
                "private",
                "Private",
                mappings=words({"true": ("yes", "text"), "false": ("no", "text")}),
                custom__width=90,
            ),
            column("Value #B", "Created", **DATE),
            column("Value #C", "Languages", unit="none", custom__width=100),
            column("Value #D", "Last read", **DATE),
        ],
        sort="Repository",
    )
    last_read = lines(
        "Time since it was last read",
        "How old the data of the repository were. A line that climbs means that its reads fail.",
        [Query(f"time() - {READ_AT}", "{{repo}} ({{job}})")],
        fields(unit="s", min=0),
    )
    return [(7, [(about, 12), (last_read, 12)])]


def build() -> Json:
    rows = [
        Row("Is $repo ready to release?", [(4, ready())]),
        Row("What is behind?", behind()),
        Row("What has stopped moving, and since when?", stopped()),
        Row("Can these figures be trusted?", trust()),
    ]
    return dashboard(
        "translation-repository",
        "Translation of a repository",
        "One repository in depth: each of its languages, how it has progressed, and when it will be done.",
        ONE_REPOSITORY,
        completion_events(shown=True),
        rows,
        since="now-7d",
    )
