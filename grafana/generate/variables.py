"""The variables of the dashboards, and the events that one of them marks."""

from blocks import BAD, DATASOURCE, GOOD, Json
from queries import CHOSEN, EXPORTER, Scope

SHOWN, HIDDEN, IN_MENU = 0, 2, 3


def query(name: str, label: str, text: str, description: str, **more: object) -> Json:
    """A variable that offers what a query finds."""
    return {
        "type": "query",
        "name": name,
        "label": label,
        "description": description,
        "datasource": DATASOURCE,
        "query": text,
        "refresh": 2,
        "sort": 1,
        "hide": SHOWN,
        "regex": "",
        "multi": False,
        "includeAll": False,
    } | more


def several(name: str, label: str, text: str, description: str, **more: object) -> Json:
    """A variable of which all are chosen, or several."""
    options = {"multi": True, "includeAll": True, "allValue": ".+"}
    options["current"] = {"selected": True, "text": ["All"], "value": ["$__all"]}
    return query(name, label, text, description, **options | more)


def choice(name: str, label: str, series: str, description: str, **more: object) -> Json:
    """One that offers the values of the label `name`."""
    return several(name, label, f"label_values({series}, {name})", description, **more)


BUILD_INFO = "translation_exporter_build_info"
REPOSITORY_INFO = f"translation_repository_info{{{EXPORTER}}}"
OF_REPOSITORY = f'{EXPORTER}, repo="$repository"'
EXPORTERS: list[Json] = [
    {
        "type": "datasource",
        "name": "datasource",
        "label": "Data source",
        "description": "The Prometheus that scrapes the exporter.",
        "query": "prometheus",
        "refresh": 1,
        "hide": SHOWN,
        "regex": "",
        "multi": False,
        "includeAll": False,
    },
    # Many have but one, and no such label: these two wait in the menu of the dashboard's controls.
    choice("cluster", "Cluster", BUILD_INFO, "Clusters, if the series have this label.", allValue=".*", hide=IN_MENU),
    choice(
        "namespace",
        "Namespace",
        f'{BUILD_INFO}{{cluster=~"$cluster"}}',
        "Namespaces, if the series have this label.",
        allValue=".*",
        hide=IN_MENU,
    ),
    choice(
        "job",
        "Job",
        f'{BUILD_INFO}{{cluster=~"$cluster", namespace=~"$namespace"}}',
        "An account: its exporters share a job.",
    ),
    choice(
        "instance",
        "Instance",
        f"{BUILD_INFO}{{{CHOSEN}}}",
        "A single exporter. Charts over time read recorded series, which aggregate over all instances of a job.",
    ),
]


def threshold(name: str, label: str, default: int, description: str) -> Json:
    """What the rules have recorded under this name, so that one number changes dashboards and alerts; or else the default."""
    recorded = f"max(last_over_time(translation:{name}_seconds[15m]))"
    text = f"query_result({recorded} or vector({default}))"
    return query(
        name,
        label,
        text,
        f"{description}, in seconds: as the rules have it.",
        regex=r"/\} (\S+) /",
        hide=HIDDEN,
        current={"selected": True, "text": str(default), "value": str(default)},
    )


THRESHOLDS = [
    threshold("stalled_after", "Stalled after", 604800, "How long one that is not ready may go without progress"),
    threshold("at_risk_within", "At risk within", 1209600, "How far ahead a date is soon"),
]
ALL_REPOSITORIES: list[Json] = [
    *EXPORTERS,
    choice("repo", "Repository", REPOSITORY_INFO, "Repositories to show."),
    choice("language", "Language", f"translation_language_info{{{EXPORTER}}}", "Languages to show."),
    *THRESHOLDS,
]
ONE_REPOSITORY: list[Json] = [
    *EXPORTERS,
    # What links bring: one, several or all. The first of them is shown.
    choice("repo", "Arrived with", REPOSITORY_INFO, "The repositories that were chosen where a link led here.", hide=HIDDEN),
    query(
        "repository",
        "Repository",
        f'query_result(translation_repository_info{{{EXPORTER}, repo=~"$repo"}} or {REPOSITORY_INFO})',
        "The repository to show.",
        regex='/repo="([^"]+)"/',
        sort=0,
    ),
    several(
        "language",
        "Language",
        f"query_result(translation_completion_ratio{{{OF_REPOSITORY}}} or translation_target_ratio{{{OF_REPOSITORY}}})",
        "Languages of the repository to show.",
        regex='/language="([^"]+)"/',
    ),
    *THRESHOLDS,
]


def event(name: str, color: str, expr: str, title: str) -> Json:
    """Marks on the charts where `expr` has a value; Grafana leaves out those of 0."""
    return {
        "name": name,
        "enable": True,
        "hide": False,
        "iconColor": color,
        "datasource": DATASOURCE,
        "target": {"refId": "Anno", "expr": expr, "interval": "1m"},
        "titleFormat": title,
        "textFormat": "",
        "tagKeys": "job,language",
        "useValueForTime": False,
    }


def readiness_events(of: Scope) -> list[Json]:
    """One mark at each change: the offset is as long as the step."""
    before = f"{of.recorded_ratio} offset $__interval"
    return [
        event(
            "Language ready",
            GOOD,
            f"{of.recorded_goal} > 0 and {of.recorded_ratio} >= {of.recorded_goal} and {before} < {of.recorded_goal}",
            "{{language}} is ready",
        ),
        event(
            "No longer ready",
            BAD,
            f"{of.recorded_goal} > 0 and {of.recorded_ratio} < {of.recorded_goal} and {before} >= {of.recorded_goal}",
            "{{language}} is no longer ready",
        ),
    ]
