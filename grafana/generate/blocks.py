"""The building blocks of the dashboards: panels, rows, links, and the page that holds them.

Each block is a plain dictionary in the classic schema of Grafana's dashboards, with only what differs from Grafana's own
defaults or what Grafana would otherwise guess. Panels do not say where they are: a line of panels does, by their widths.
"""

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
Steps = list[tuple[float | None, str]]

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
TAG = "translation-exporter"
REPOSITORY_URL = "https://github.com/translation-exporter/translation-exporter"

# As text, these have a contrast of 4.5 in both themes, and the colour-blind can tell them apart. What is unknown is neither.
GOOD, BAD, NEUTRAL = "blue", "red", "text"
NONE_WANTED: Steps = [(None, NEUTRAL), (1, BAD)]
# How far behind, as the colour of a cell: from all of these Grafana's choice of white or black stands out.
HEAT: Steps = [(None, "dark-red"), (0.5, "super-light-orange"), (0.8, "super-light-yellow"), (1, "transparent")]
# A chart over all languages costs an evaluation of each of them for each point.
POINTS, POINTS_OF_ALL_LANGUAGES = 100, 50

# What would round to 100 % without being complete is shown differently.
NEARLY = {"from": 0.9995, "to": 1 - 1e-12, "result": {"index": 0, "text": "< 100 %"}}
PERCENT: Json = {"unit": "percentunit", "decimals": 1, "mappings": [{"type": "range", "options": NEARLY}]}
# With a decimal: without one, 89 minutes would be an hour.
SECONDS: Json = {"unit": "s", "decimals": 1}
COUNT: Json = {"unit": "locale"}
# Over time: whole numbers, and how often something happens in an hour.
COUNTS, PER_HOUR = ({**COUNT, "decimals": decimals, "min": 0} for decimals in (0, 1))


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
    points: int = 0

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
        if self.points:
            panel["maxDataPoints"] = self.points
        if self.transformations:
            panel["transformations"] = self.transformations
        if self.repeat:
            panel |= {"repeat": self.repeat, "repeatDirection": "v"}
        return panel


def colored(steps: Steps) -> Json:
    """Colours by value."""
    thresholds = [{"value": value, "color": color} for value, color in steps]
    return {"color": {"mode": "thresholds"}, "thresholds": {"mode": "absolute", "steps": thresholds}}


def words(*mapping: tuple[str, str]) -> list[Json]:
    """Shows 0, 1, ... as these words in these colours."""
    options = {str(at): {"index": at, "text": word, "color": color} for at, (word, color) in enumerate(mapping)}
    return [{"type": "value", "options": options}]


def override(name: str, **properties: Any) -> Json:
    """Configures the field of this name; `__` in a property is a dot in Grafana's name for it."""
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()],
    }


def address(dashboard: str, *variables: str) -> str:
    """Another dashboard at the same time range and with these variables.

    Grafana decodes the addresses of links before it opens them, and so loses a `+`, `#` or `&` of a name (grafana/grafana#93072).
    One that cannot be decoded it leaves alone: the lone `%` sees to that, in the fragment, which nobody reads.
    """
    return "&".join([f"/d/{dashboard}?${{__url_time_range}}", *variables]) + "#%"


def link(title: str, dashboard: str, *variables: str) -> Json:
    """A link from a value to another dashboard."""
    return {"title": title, "url": address(dashboard, *variables), "targetBlank": False}


KEPT = [f"${{{name}:queryparam}}" for name in ("datasource", "cluster", "namespace", "job", "instance")]


def stat(title: str, description: str, *queries: Query, overrides: list[Json] | None = None, **defaults: Any) -> Panel:
    """Large current figures; with several queries, each shows its legend."""
    for query in queries:
        query.now = True
    options = {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "orientation": "vertical",
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "center",
        "textMode": "value_and_name" if len(queries) > 1 else "value",
        "wideLayout": True,
        "showPercentChange": False,
        "percentChangeColorMode": "standard",
        # One size for all; Grafana would choose one for each panel.
        "text": {"titleSize": 13, "valueSize": 22},
    }
    return Panel("stat", title, description, list(queries), options, colored([(None, NEUTRAL)]) | defaults, overrides or [])


def lines(
    title: str,
    description: str,
    *queries: Query,
    overrides: list[Json] | None = None,
    stacked: bool = False,
    stepped: bool = False,
    last: bool = False,
    points: int = POINTS,
    **defaults: Any,
) -> Panel:
    """Values over time. With `last`, the legend shows the last value of each."""
    custom: Json = {
        "drawStyle": "line",
        "lineWidth": 0 if stacked else 2,
        "fillOpacity": 60 if stacked else 0,
        "lineInterpolation": "stepAfter" if stepped else "linear",
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
    }
    legend: Json = {"showLegend": True, "displayMode": "list", "placement": "bottom", "calcs": []}
    if last:
        legend |= {"displayMode": "table", "placement": "right", "calcs": ["lastNotNull"]}
    options = {"legend": legend, "tooltip": {"mode": "multi", "sort": "none", "hideZeros": False}}
    fields = {"color": {"mode": "palette-classic"}} | defaults
    fields["custom"] = custom | defaults.get("custom", {})
    return Panel("timeseries", title, description, list(queries), options, fields, overrides or [], points=points)


def fixed(name: str, color: str) -> Json:
    return override(name, color={"mode": "fixed", "fixedColor": color})


@dataclass
class Column:
    """A column of a table: a label or `Value #A`, its title, and what is configured for it, as in `override`."""

    name: str
    title: str
    properties: Json


def column(name: str, title: str, width: int = 0, **properties: Any) -> Column:
    """One that is `width` wide, or shares the rest of the table."""
    if width:
        properties["custom__width"] = width
    return Column(name, title, properties)


def word_column(name: str, title: str, width: int, *mapping: tuple[str, str]) -> Column:
    return column(name, title, width, mappings=words(*mapping), custom__cellOptions={"type": "color-text"})


def ratio_column(name: str, title: str, width: int = 0) -> Column:
    """A bar with its figure."""
    bar = {"type": "gauge", "mode": "basic", "valueDisplayMode": "text"}
    color = {"mode": "fixed", "fixedColor": GOOD}
    return column(name, title, width, **PERCENT, min=0, max=1, color=color, noValue="unknown", custom__cellOptions=bar)


def date_column(name: str, title: str) -> Column:
    return column(name, title, 165, unit="dateTimeAsIso")


# What tells two accounts apart comes last. Who has no such labels, has no such columns.
ACCOUNT_COLUMNS = [column("job", "Job", 150), column("namespace", "Namespace", 110), column("cluster", "Cluster", 110)]


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
    frozen: int,
) -> Panel:
    """Current rows, sorted by the column of this name; the first columns stay in view."""
    for query in queries:
        query.table = True
    custom = {"align": "auto", "cellOptions": {"type": "auto"}, "inspect": False, "filterable": False}
    defaults = defaults | {"custom": custom | defaults.get("custom", {})}
    options: Json = {"showHeader": True, "cellHeight": "sm", "frameIndex": 0, "frozenColumns": {"left": frozen}}
    options["sortBy"] = [{"displayName": sort, "desc": descending}]
    return Panel("table", title, description, queries, options, defaults, overrides, transformations)


def table(
    title: str,
    description: str,
    queries: list[Query],
    columns: list[Column],
    *,
    sort: str,
    descending: bool = False,
    frozen: int = 1,
) -> Panel:
    """The rows of all queries, joined by the labels that they share, in these columns."""
    names = [each.name for each in columns]
    labels = [name for name in names if " " not in name and name not in ("cluster", "namespace")]
    # A row of which nothing is shown keeps the columns where there is no other.
    empty = "vector(0)"
    for label in labels:
        empty = f'label_replace({empty}, "{label}", "-", "", "")'
    letter = chr(ord("A") + len(queries))
    is_empty = {"fieldName": f"Value #{letter}", "config": {"id": "isNotNull", "options": {}}}
    organize = {
        "indexByName": {name: at for at, name in enumerate(names)},
        "renameByName": {each.name: each.title for each in columns if each.name != each.title},
    }
    return grid(
        title,
        description,
        [*queries, Query(empty)],
        {"unit": "locale"},
        transformations=[
            {"id": "merge", "options": {}},
            {"id": "filterByValue", "options": {"filters": [is_empty], "type": "exclude", "match": "any"}},
            {"id": "filterFieldsByName", "options": {"include": {"names": names}}},
            {"id": "organize", "options": organize},
        ],
        overrides=[override(each.title, **each.properties) for each in columns if each.properties],
        sort=sort,
        descending=descending,
        frozen=frozen,
    )


@dataclass
class Row:
    """A heading, a question, and below it lines of (panel, width), each line 24 wide and of one height."""

    title: str
    lines: list[tuple[int, list[tuple[Panel, int]]]]


def to_dashboard(title: str, uid: str, *variables: str) -> Json:
    """A link above the panels, with what the other dashboard can take."""
    return to_url(title, address(uid, *KEPT, *variables), f"{title}, of what is selected here") | {
        "icon": "dashboard",
        "targetBlank": False,
    }


def to_url(title: str, url: str, tooltip: str) -> Json:
    return {
        "type": "link",
        "title": title,
        "tags": [],
        "asDropdown": False,
        "includeVars": False,
        "keepTime": False,
        "targetBlank": True,
        "icon": "doc",
        "tooltip": tooltip,
        "url": url,
    }


def dashboard(
    uid: str,
    title: str,
    description: str,
    variables: list[Json],
    rows: list[Row],
    *,
    since: str,
    links: list[Json],
    events: list[Json] | None = None,
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
    runbook = to_url(
        "Runbook",
        f"{REPOSITORY_URL}/blob/main/deploy/prometheus/README.md",
        "What each alert means and what to do about it",
    )
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
        "links": [*links, runbook],
        "annotations": {"list": events or []},
        "templating": {"list": variables},
        "panels": panels,
    }
