"""The building blocks of the dashboards: panels, rows, links, and the page that holds them.

Each block is a plain dictionary in the classic schema of Grafana's dashboards, with only what differs from Grafana's own
defaults or what Grafana would otherwise guess. Panels do not say where they are: a line of panels does, by their widths.
"""

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
TAG = "translation-exporter"
REPOSITORY_URL = "https://github.com/translation-exporter/translation-exporter"

# Blue and orange are what the colour-blind can tell apart. Only 1 is complete.
GOOD, BAD = "blue", "orange"
COMPLETION = [(None, BAD), (1, GOOD)]
# For many completions side by side: shades of one hue, from far behind to almost done (0.8) to complete.
SHADES = [(None, "super-light-blue"), (0.5, "light-blue"), (0.8, "blue"), (1, "dark-blue")]
# In poll intervals: the alert rules accept three as fresh.
AGE = [(None, GOOD), (2, "yellow"), (3, BAD)]
NONE_WANTED = [(None, GOOD), (1, BAD)]
NEUTRAL = [(None, "text")]
# No screen shows more points than these, and each costs an evaluation over all languages.
POINTS = 300


@dataclass
class Query:
    """One PromQL query of a panel: `table` gives current rows, `now` the current value, neither a range."""

    expr: str
    legend: str = ""
    now: bool = False
    table: bool = False

    def target(self, letter: str) -> Json:
        target: Json = {"datasource": DATASOURCE, "refId": letter, "expr": self.expr, "editorMode": "code"}
        target |= {"instant": True, "range": False} if self.now or self.table else {"instant": False, "range": True}
        if self.table:
            target["format"] = "table"
        if self.legend:
            target["legendFormat"] = self.legend
        return target


@dataclass
class Panel:
    """A panel without its place. `defaults` is the fields' configuration, `overrides` that of single fields."""

    kind: str
    title: str
    description: str
    queries: list[Query]
    options: Json
    defaults: Json
    overrides: list[Json] = field(default_factory=list)
    transformations: list[Json] = field(default_factory=list)
    repeat: str = ""

    def at(self, number: int, place: Json) -> Json:
        panel: Json = {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.description,
            "gridPos": place,
            "datasource": DATASOURCE,
            "targets": [query.target(chr(ord("A") + at)) for at, query in enumerate(self.queries)],
            "options": self.options,
            "fieldConfig": {"defaults": self.defaults, "overrides": self.overrides},
        }
        if self.kind == "timeseries":
            panel["maxDataPoints"] = POINTS
        if self.transformations:
            panel["transformations"] = self.transformations
        if self.repeat:
            panel |= {"repeat": self.repeat, "repeatDirection": "v"}
        return panel


def thresholds(steps: list[tuple[float | None, str]]) -> Json:
    return {"mode": "absolute", "steps": [{"value": value, "color": color} for value, color in steps]}


def words(mapping: dict[str, tuple[str, str]]) -> list[Json]:
    """Shows values as words: {value: (word, color)}."""
    options = {
        value: {"index": at, "text": word, "color": color} for at, (value, (word, color)) in enumerate(mapping.items())
    }
    return [{"type": "value", "options": options}]


def fields(*, unit: str, steps: list[tuple[float | None, str]] | None = None, **more: Any) -> Json:
    defaults: Json = {"unit": unit}
    if steps is not None:
        defaults |= {"color": {"mode": "thresholds"}, "thresholds": thresholds(steps)}
    return defaults | more


def override(name: str, **properties: Any) -> Json:
    """Configures the field of this name; `__` in a property is a dot in Grafana's name for it."""
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()],
    }


def link(title: str, dashboard: str, *variables: str) -> Json:
    """A link from a value to another dashboard, at the same time range and with these variables."""
    return {
        "title": title,
        "url": "&".join([f"/d/{dashboard}?${{__url_time_range}}", *variables]),
        "targetBlank": False,
    }


KEPT = ["${datasource:queryparam}", "${job:queryparam}", "${instance:queryparam}"]


def latest() -> Json:
    return {"calcs": ["lastNotNull"], "fields": "", "values": False}


def stat(title: str, description: str, queries: list[Query], defaults: Json, **options: Any) -> Panel:
    """Large current figures; with several queries, each shows its legend."""
    for query in queries:
        query.now = True
    base = {
        "reduceOptions": latest(),
        "orientation": "vertical" if len(queries) > 1 else "auto",
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "textMode": "value_and_name" if len(queries) > 1 else "value",
        "wideLayout": True,
        "showPercentChange": False,
        "percentChangeColorMode": "standard",
    }
    return Panel("stat", title, description, queries, base | options, defaults)


def bars(title: str, description: str, query: Query, defaults: Json) -> Panel:
    """One horizontal bar for each current series."""
    query.now = True
    options = {
        "reduceOptions": latest(),
        "orientation": "horizontal",
        "displayMode": "basic",
        "valueMode": "color",
        "namePlacement": "left",
        "showUnfilled": True,
        "sizing": "manual",
        "minVizWidth": 8,
        "minVizHeight": 16,
        "maxVizHeight": 28,
        "legend": {"showLegend": False, "displayMode": "hidden", "placement": "bottom", "calcs": []},
    }
    return Panel("bargauge", title, description, [query], options, defaults)


def lines(
    title: str,
    description: str,
    queries: list[Query],
    defaults: Json,
    *,
    overrides: list[Json] | None = None,
    stacked: bool = False,
    stepped: bool = False,
    legend: tuple[str, ...] = (),
    descending: bool = True,
) -> Panel:
    """Values over time. `legend` names what the legend computes; the first of them sorts it."""
    names = {"lastNotNull": "Last *", "max": "Max", "min": "Min", "mean": "Mean"}
    legend_options: Json = {"showLegend": True, "displayMode": "list", "placement": "bottom", "calcs": []}
    if legend:
        legend_options |= {
            "displayMode": "table",
            "placement": "right",
            "calcs": list(legend),
            "sortBy": names[legend[0]],
            "sortDesc": descending,
        }
    custom: Json = {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 30 if stacked else 0,
        "lineInterpolation": "stepAfter" if stepped else "linear",
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
    }
    options = {
        "legend": legend_options,
        "tooltip": {"mode": "multi", "sort": "desc" if descending else "asc", "hideZeros": True},
    }
    defaults = {"color": {"mode": "palette-classic"}} | defaults
    defaults["custom"] = custom | defaults.get("custom", {})
    return Panel("timeseries", title, description, queries, options, defaults, overrides or [])


def grid(
    title: str,
    description: str,
    queries: list[Query],
    defaults: Json,
    *,
    transformations: list[Json],
    overrides: list[Json],
    sort: str,
    descending: bool = False,
) -> Panel:
    """Current rows, built by these transformations and sorted by the column of this name."""
    for query in queries:
        query.table = True
    custom = {"align": "auto", "cellOptions": {"type": "auto"}, "inspect": False, "filterable": False}
    defaults = defaults | {"custom": custom | defaults.get("custom", {})}
    options: Json = {"showHeader": True, "cellHeight": "sm", "frameIndex": 0}
    options["sortBy"] = [{"displayName": sort, "desc": descending}]
    return Panel("table", title, description, queries, options, defaults, overrides, transformations)


@dataclass
class Column:
    """A column of a table: a label or `Value #A`, its title, and what is configured for it, as in `override`."""

    name: str
    title: str
    properties: Json


def column(name: str, title: str, **properties: Any) -> Column:
    return Column(name, title, properties)


def table(
    title: str, description: str, queries: list[Query], columns: list[Column], *, sort: str, descending: bool = False
) -> Panel:
    """The rows of all queries, joined by the labels that they share, in these columns."""
    names = [each.name for each in columns]
    organize = {
        "indexByName": {name: at for at, name in enumerate(names)},
        "renameByName": {each.name: each.title for each in columns if each.name != each.title},
    }
    return grid(
        title,
        description,
        queries,
        fields(unit="short"),
        transformations=[
            {"id": "merge", "options": {}},
            {"id": "filterFieldsByName", "options": {"include": {"names": names}}},
            {"id": "organize", "options": organize},
        ],
        overrides=[override(each.title, **each.properties) for each in columns if each.properties],
        sort=sort,
        descending=descending,
    )


@dataclass
class Row:
    """A heading, a question, and below it lines of (panel, width), each line 24 wide and of one height."""

    title: str
    lines: list[tuple[int, list[tuple[Panel, int]]]]


def dashboard(
    uid: str, title: str, description: str, variables: list[Json], events: list[Json], rows: list[Row], since: str
) -> Json:
    panels: list[Json] = []
    y = 0
    for row in rows:
        panels.append(
            {
                "id": len(panels) + 1,
                "type": "row",
                "title": row.title,
                "collapsed": False,
                "gridPos": {"x": 0, "y": y, "w": 24, "h": 1},
                "panels": [],
            }
        )
        y += 1
        for height, line in row.lines:
            x = 0
            for panel, width in line:
                panels.append(panel.at(len(panels) + 1, {"x": x, "y": y, "w": width, "h": height}))
                x += width
            if x != 24:
                raise ValueError(f"{title}: a line of {row.title!r} is {x} wide instead of 24")
            y += height
    links: list[Json] = [
        {
            "type": "dashboards",
            "title": "Translation dashboards",
            "tags": [TAG],
            "asDropdown": False,
            "includeVars": True,
            "keepTime": True,
            "targetBlank": False,
            "icon": "external link",
            "tooltip": "",
            "url": "",
        },
        {
            "type": "link",
            "title": "Runbook",
            "tags": [],
            "asDropdown": False,
            "includeVars": False,
            "keepTime": False,
            "targetBlank": True,
            "icon": "doc",
            "tooltip": "What each alert means and what to do about it",
            "url": f"{REPOSITORY_URL}/blob/main/deploy/prometheus/README.md",
        },
    ]
    return {
        "id": None,
        "uid": uid,
        "title": title,
        "description": description,
        "tags": [TAG],
        "schemaVersion": 39,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "5m",
        "time": {"from": since, "to": "now"},
        "timepicker": {},
        "timezone": "browser",
        "weekStart": "",
        "fiscalYearStartMonth": 0,
        "links": links,
        "annotations": {"list": events},
        "templating": {"list": variables},
        "panels": panels,
    }
