"""The dashboard of one repository in depth."""

from blocks import (
    COMPLETION,
    NEUTRAL,
    Json,
    Panel,
    Query,
    Row,
    bars,
    dashboard,
    fields,
    joined,
    lines,
    override,
    stat,
    table,
    words,
)
from figures import (
    PERCENT,
    RATIO_CELL,
    STALLED_WORDS,
    age,
    completion_over_time,
    counts,
    mean_completion,
    minimum_completion,
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
)
from variables import EVENTS, ONE_REPOSITORY


def ready() -> list[tuple[Panel, int]]:
    return six(
        mean_completion("Completion averaged over the chosen languages. Green only at 100 %."),
        minimum_completion(
            "Completion of the language that is furthest behind. Green means that all chosen languages are complete."
        ),
        counts(
            "Languages complete",
            "How many of the chosen languages are complete, how many of them report a completion, and how many languages the repository is configured for.",
            Query(f"sum({RATIO} >= bool 1)", "complete"),
            Query(f"count({RATIO})", "measured"),
            Query(f"sum({SERVED})", "configured"),
        ),
        stalled_languages(),
        stat(
            "Estimated completion",
            "When the last of the rising languages will be complete if they go on as in the last 14 days. Languages that do not rise are left out: see those stalled.",
            [Query(f"max({ESTIMATE}) * 1000")],
            fields(unit="dateTimeFromNow", steps=NEUTRAL, noValue="nothing rises"),
        ),
        age(
            "Age of the data",
            "How long ago the languages of the repository were last read in full. Data older than poll.stale_after are not shown at all.",
        ),
    )


def languages() -> Panel:
    return table(
        "Languages",
        "All that is known of each language, the one with the furthest to go first. The estimate takes the last 14 days' rate; a language that does not rise has none.",
        [
            Query(fold("max", "translation_language_info", LANGUAGE)),
            Query(RATIO),
            Query(IDLE),
            Query(f"{CLOCK} * 1000"),
            Query(STALLED),
            Query(f"{ESTIMATE} * 1000"),
        ],
        fields(unit="short"),
        transformations=joined(
            ("language", "Language"),
            ("name", "Name"),
            ("Value #B", "Completion"),
            ("Value #E", "State"),
            ("Value #C", "No progress for"),
            ("Value #D", "Last progress"),
            ("Value #F", "Complete on"),
        ),
        overrides=[
            override("Language", custom__width=110),
            override("Name", custom__minWidth=140),
            override("Completion", **RATIO_CELL, custom__minWidth=240),
            override("State", mappings=STALLED_WORDS, custom__cellOptions={"type": "color-text"}, custom__width=90),
            override("No progress for", unit="s", decimals=1, custom__width=150),
            override("Last progress", unit="dateTimeAsIso", custom__width=190),
            override("Complete on", unit="dateTimeAsIso", custom__width=190),
        ],
        sort="Completion",
    )


def behind() -> list[tuple[int, list[tuple[Panel, int]]]]:
    worst = bars(
        "Languages, worst first",
        "Completion of each language of the repository.",
        Query(f"sort({RATIO})", "{{language}}"),
        fields(**PERCENT, steps=COMPLETION, min=0, max=1),
    )
    over_time = completion_over_time(
        "Completion by language",
        "Completion of each language over time. A fall is new text to translate.",
        RECORDED_RATIO,
        "{{language}}",
    )
    return [(12, [(languages(), 24)]), (11, [(worst, 8), (over_time, 16)])]


def stopped() -> list[tuple[int, list[tuple[Panel, int]]]]:
    idle = lines(
        "Time since the last progress",
        "How long each incomplete language had not risen. A line that climbs without a fall is a language that nobody works on.",
        [Query(f"(time() - {RECORDED_CLOCK}) and {RECORDED_RATIO} < 1", "{{language}}")],
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
        fields(unit="short"),
        transformations=joined(
            ("repo", "Repository"),
            ("id", "Id"),
            ("private", "Private"),
            ("Value #B", "Created"),
            ("Value #C", "Languages"),
            ("Value #D", "Last read"),
        ),
        overrides=[
            override("Repository", custom__minWidth=160),
            override("Id", unit="string"),
            override("Private", mappings=words({"true": ("yes", "text"), "false": ("no", "text")}), custom__width=90),
            override("Created", unit="dateTimeAsIso", custom__width=180),
            override("Languages", unit="none", custom__width=100),
            override("Last read", unit="dateTimeAsIso", custom__width=180),
        ],
        sort="Repository",
    )
    last_read = lines(
        "Time since it was last read",
        "How old the data of the repository were. A line that climbs: its reads fail.",
        [Query(f"time() - {READ_AT}", "{{repo}}")],
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
        "One repository in depth: each of its languages, how it has moved, and when it will be done.",
        ONE_REPOSITORY,
        EVENTS,
        rows,
        since="now-7d",
    )
