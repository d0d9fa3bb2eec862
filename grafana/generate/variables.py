"""The variables of the dashboards, and the events that one of them marks."""

from blocks import BAD, DATASOURCE, GOOD, Json
from queries import CHOSEN, EXPORTER, Scope

SHOWN, HIDDEN, IN_MENU = 0, 2, 3


def query(name: str, text: str, description: str, **more: object) -> Json:
    """A variable that offers what a query finds."""
    label = name.capitalize().replace("_", " ")
    return {
        **{"type": "query", "name": name, "label": label, "description": description, "datasource": DATASOURCE, "query": text},
        **{"refresh": 2, "sort": 1, "hide": SHOWN, "regex": "", "multi": False, "includeAll": False},
    } | more


def several(name: str, text: str, description: str, **more: object) -> Json:
    """A variable of which all are chosen, or several."""
    options = {"multi": True, "includeAll": True, "allValue": ".+"}
    options["current"] = {"selected": True, "text": ["All"], "value": ["$__all"]}
    return query(name, text, description, **options | more)


def choice(name: str, series: str, description: str, **more: object) -> Json:
    """One that offers the values of the label `name`."""
    return several(name, f"label_values({series}, {name})", description, **more)


def found(name: str, expr: str) -> Json:
    """What a query offers that finds series: the values of the label `name`."""
    return {"text": f"query_result({expr})", "regex": f'/{name}="([^"]+)"/'}


BUILD_INFO = "translation_exporter_build_info"
REPOSITORY_INFO = f"translation_repository_info{{{EXPORTER}}}"
OF_REPOSITORY = f'{EXPORTER}, repo="$repository"'
JOBS = f'group by (job) (last_over_time({BUILD_INFO}{{cluster=~"$cluster", namespace=~"$namespace"}}[$__range]))'
NO_JOB = f'label_replace(vector(0), "job", "no exporter is scraped yet", "", "") unless on () {JOBS}'
COMPLETIONS = f"translation_completion_ratio{{{OF_REPOSITORY}}} or translation_target_ratio{{{OF_REPOSITORY}}}"
# Many have but one, and no such label: these two wait in the menu of the dashboard's controls.
RARE = {"allValue": ".*", "hide": IN_MENU}
EXPORTERS: list[Json] = [
    {
        **{"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus"},
        "description": "The Prometheus that scrapes the exporter.",
        **{"refresh": 1, "hide": SHOWN, "regex": "", "multi": False, "includeAll": False},
    },
    choice("cluster", BUILD_INFO, "Clusters, if the series have this label.", **RARE),
    choice("namespace", f'{BUILD_INFO}{{cluster=~"$cluster"}}', "Namespaces, if the series have this label.", **RARE),
    # With a value in any case, as a panel is repeated for each.
    several("job", **found("job", f"{JOBS} or {NO_JOB}"), description="An account: its exporters share a job."),
    choice("instance", f"{BUILD_INFO}{{{CHOSEN}}}", "A single exporter."),
]


REPOSITORIES = choice("repo", REPOSITORY_INFO, "Repositories to show.", label="Repository")
ALL_REPOSITORIES: list[Json] = [
    *EXPORTERS,
    REPOSITORIES,
    choice("language", f"translation_language_info{{{EXPORTER}}}", "Languages to show."),
]
# One of the repositories that a link brings, one, several or all, also while the exporter is down.
BROUGHT = f'translation_repository_info{{{EXPORTER}, repo=~"$repo"}}'
TO_CHOOSE = found("repo", f"{BROUGHT} or last_over_time({BROUGHT}[1d]) or {REPOSITORY_INFO}")
ONE_REPOSITORY: list[Json] = [
    *EXPORTERS,
    REPOSITORIES | {"label": "Arrived with", "hide": HIDDEN},
    query("repository", **TO_CHOOSE, description="The repository to show.", sort=0),
    several("language", **found("language", COMPLETIONS), description="Languages of the repository to show."),
]


def event(name: str, color: str, expr: str, title: str) -> Json:
    """Marks on the charts where `expr` has a value; Grafana leaves out those of 0."""
    return {
        **{"name": name, "enable": True, "hide": False, "iconColor": color, "datasource": DATASOURCE},
        "target": {"refId": "Anno", "expr": expr, "interval": "1m"},
        **{"titleFormat": title, "textFormat": "", "tagKeys": "job,language", "useValueForTime": False},
    }


def readiness_events(of: Scope) -> list[Json]:
    """One mark at each change: the offset is as long as the step."""
    ratio, goal = of.ratio, of.goal
    before = ratio.replace("}", "} offset $__interval")
    risen = f"{goal} > 0 and {ratio} >= {goal} and {before} < {goal}"
    fallen = f"{goal} > 0 and {ratio} < {goal} and {before} >= {goal}"
    return [
        event("Language ready", GOOD, risen, "{{language}} is ready"),
        event("No longer ready", BAD, fallen, "{{language}} is no longer ready"),
    ]
