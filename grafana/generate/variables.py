"""The variables of the dashboards, and the events that they mark."""

from blocks import BAD, DATASOURCE, GOOD, Json
from queries import EXPORTER, FELL, REACHED, REPOSITORY


def choice(name: str, label: str, metric: str, selector: str, description: str, *, single: bool = False) -> Json:
    """A variable that offers the values of the label `name` of a metric."""
    variable: Json = {
        "type": "query",
        "name": name,
        "label": label,
        "description": description,
        "datasource": DATASOURCE,
        "query": f"label_values({metric}{selector}, {name})",
        "refresh": 2,
        "sort": 1,
        "hide": 0,
        "regex": "",
        "multi": not single,
        "includeAll": not single,
    }
    if not single:
        variable |= {"allValue": ".+", "current": {"selected": True, "text": ["All"], "value": ["$__all"]}}
    return variable


def datasource() -> Json:
    return {
        "type": "datasource",
        "name": "datasource",
        "label": "Data source",
        "description": "The Prometheus that scrapes the exporter.",
        "query": "prometheus",
        "refresh": 1,
        "hide": 0,
        "regex": "",
        "multi": False,
        "includeAll": False,
    }


def options(name: str, label: str, description: str, values: dict[str, str], default: str) -> Json:
    """A variable that offers these {text: value}."""
    return {
        "type": "custom",
        "name": name,
        "label": label,
        "description": description,
        "query": ", ".join(f"{text} : {value}" for text, value in values.items()),
        "options": [{"text": text, "value": value, "selected": text == default} for text, value in values.items()],
        "current": {"selected": True, "text": default, "value": values[default]},
        "hide": 0,
        "multi": False,
        "includeAll": False,
    }


def event(name: str, color: str, expr: str, title: str, *, shown: bool) -> Json:
    """Marks on the charts where `expr` has a value above 0, from the start or once they are switched on."""
    return {
        "name": name,
        "enable": shown,
        "hide": False,
        "iconColor": color,
        "datasource": DATASOURCE,
        "target": {"refId": "Anno", "expr": expr, "interval": "1m"},
        "titleFormat": title,
        "textFormat": "",
        "tagKeys": "job,repo,language",
        "useValueForTime": False,
    }


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
