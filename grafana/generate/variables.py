"""The variables of the dashboards, and the events that they mark."""

from blocks import BAD, GOOD, Json, choice, datasource, event, options
from queries import EXPORTER, FELL, REACHED, REPOSITORY

JOB = choice("job", "Job", "translation_exporter_build_info", "", "An account: its exporters share a job.")
INSTANCE = choice(
    "instance",
    "Instance",
    "translation_exporter_build_info",
    '{job=~"$job"}',
    "A single exporter. Charts over time read recorded series, which aggregate over all instances of a job.",
)
REPO = choice("repo", "Repository", "translation_repository_info", f"{{{EXPORTER}}}", "Repositories to show.")
ONE_REPO = choice(
    "repo", "Repository", "translation_repository_info", f"{{{EXPORTER}}}", "The repository to show.", single=True
)
LANGUAGE = choice("language", "Language", "translation_language_info", f"{{{REPOSITORY}}}", "Languages to show.")
STALLED_AFTER = options(
    "stalled_after",
    "Stalled after",
    "An incomplete language whose completion has not risen for this long has stalled. The alert waits for 7 days.",
    {
        "1 minute": "60",
        "1 day": "86400",
        "3 days": "259200",
        "7 days": "604800",
        "14 days": "1209600",
        "30 days": "2592000",
    },
    "7 days",
)

EXPORTERS: list[Json] = [datasource(), JOB, INSTANCE]
ALL_REPOSITORIES: list[Json] = [*EXPORTERS, REPO, LANGUAGE, STALLED_AFTER]
ONE_REPOSITORY: list[Json] = [*EXPORTERS, ONE_REPO, LANGUAGE, STALLED_AFTER]


def completion_events(*, shown: bool) -> list[Json]:
    return [
        event("Language complete", GOOD, REACHED, "{{repo}}: {{language}} is complete", shown=shown),
        event("No longer complete", BAD, FELL, "{{repo}}: {{language}} is no longer complete", shown=shown),
    ]
