"""The building blocks of the dashboards: panels, rows, links, and the page that holds them.

Each block is a plain dictionary in the classic schema of Grafana's dashboards, with only what differs from Grafana's own
defaults or what Grafana would otherwise guess. Panels do not say where they are: a line of panels does, by their widths.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Json = dict[str, Any]
Steps = list[tuple[float | None, str]]

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
RUNBOOK = "https://github.com/translation-exporter/translation-exporter/blob/main/deploy/prometheus/README.md"

# As text, these have a contrast of 4.5 in both themes, and the colour-blind can tell them apart. What is unknown is neither.
GOOD, BAD, NEUTRAL = "blue", "red", "text"
NONE_WANTED: Steps = [(None, NEUTRAL), (1, BAD)]
# How far behind, as the colour of a cell: from all of these Grafana's choice of white or black stands out.
HEAT: Steps = [(None, "dark-red"), (0.5, "super-light-orange"), (0.8, "super-light-yellow"), (1, "transparent")]
POINTS = 100
# Twelve rows of a table, beneath its title and its heading.
TWELVE_ROWS = 14

# What would round to 100 % without being complete is shown differently.
NEARLY = {"from": 0.9995, "to": 1 - 1e-12, "result": {"index": 0, "text": "< 100 %"}}
PERCENT: Json = {"unit": "percentunit", "decimals": 1, "mappings": [{"type": "range", "options": NEARLY}]}
# With a decimal: without one, 89 minutes would be an hour.
SECONDS: Json = {"unit": "s", "decimals": 1}
COUNT: Json = {"unit": "locale"}
COUNTS: Json = {**COUNT, "decimals": 0, "min": 0}
# A forecast is not known to the minute.
DAY: Json = {"unit": "time:YYYY-MM-DD"}
# What Grafana says where a chart or a table has nothing to show.
MISSING: Json = {"noValue": "Data are missing."}


@dataclass
class Query:
    """One PromQL query: current values for a stat, current rows for a table, else a range."""

    expr: str
    legend: str = ""

    def target(self, letter: str, kind: str) -> Json:
        now = kind in ("stat", "table")
        target: Json = {"datasource": DATASOURCE, "refId": letter, "expr": self.expr, "editorMode": "code"}
        target |= {"instant": now, "range": not now}
        if kind == "table":
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
    # What a panel has besides: transformations, repeat, maxDataPoints.
    more: Json = field(default_factory=dict)

    def at(self, number: int, place: Json) -> Json:
        return {
            **{"id": number, "type": self.kind, "title": self.title, "description": self.description},
            **{"gridPos": place, "datasource": DATASOURCE},
            "targets": [query.target(chr(ord("A") + at), self.kind) for at, query in enumerate(self.queries)],
            "options": self.options,
            "fieldConfig": {"defaults": self.defaults, "overrides": self.overrides},
            **self.more,
        }


def colored(steps: Steps) -> Json:
    """Colours by value."""
    thresholds = [{"value": value, "color": color} for value, color in steps]
    return {"color": {"mode": "thresholds"}, "thresholds": {"mode": "absolute", "steps": thresholds}}


def words(*mapping: tuple[str, str]) -> list[Json]:
    """Shows 0, 1, ... as these words in these colours."""
    options = {str(at): {"index": at, "text": word, "color": color} for at, (word, color) in enumerate(mapping)}
    return [{"type": "value", "options": options}]


def override(name: str, **properties: Any) -> Json:
    """Configures the fields of this name, or of a /pattern/; `__` in a property is a dot in Grafana's name for it."""
    return {
        "matcher": {"id": "byRegexp" if name.startswith("/") else "byName", "options": name},
        "properties": [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()],
    }


def bad_if_any(name: str) -> Json:
    return override(name, **colored(NONE_WANTED))


def fixed(name: str, color: str, **properties: Any) -> Json:
    return override(name, color={"mode": "fixed", "fixedColor": color}, **properties)


def address(dashboard: str, *variables: str) -> str:
    """Another dashboard at the same time range and with these variables.

    Grafana decodes the addresses of links before it opens them, and so loses a `+`, `#` or `&` of a name (grafana/grafana#93072).
    One that cannot be decoded it leaves alone: the lone `%` sees to that, in the fragment, which nobody reads.
    """
    return "&".join([f"/d/{dashboard}?${{__url_time_range}}", *variables]) + "#%"


def link(title: str, url: str, *, away: bool = False) -> Json:
    """A link from a value; `away` leads out of Grafana."""
    return {"title": title, "url": url, "targetBlank": away}


def given(names: Iterable[str]) -> list[str]:
    """These variables as they are chosen."""
    return [f"${{{name}:queryparam}}" for name in names]


KEPT = given(("datasource", "cluster", "namespace", "job", "instance"))


def stat(title: str, description: str, *queries: Query, overrides: list[Json] | None = None, **defaults: Any) -> Panel:
    """Large current figures, each with its legend."""
    options = {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        **{"orientation": "vertical", "justifyMode": "center", "wideLayout": False, "textMode": "value_and_name"},
        **{"colorMode": "value", "graphMode": "none", "showPercentChange": False, "percentChangeColorMode": "standard"},
        # One size for all; Grafana would choose one for each panel.
        "text": {"titleSize": 13, "valueSize": 22},
    }
    fields = colored([(None, NEUTRAL)]) | {"noValue": "data missing"} | defaults
    return Panel("stat", title, description, list(queries), options, fields, overrides or [])


LEGEND = {"showLegend": True, "displayMode": "list", "placement": "bottom", "calcs": []}
LEGEND_WITH_LAST = {"showLegend": True, "displayMode": "table", "placement": "right", "calcs": ["lastNotNull"]}


def lines(
    title: str, description: str, *queries: Query, overrides: list[Json] | None = None,
    stacked: bool = False, stepped: bool = False, legend: Json = LEGEND, **defaults: Any,
) -> Panel:
    """Values over time."""
    custom: Json = {
        **{"drawStyle": "line", "lineWidth": 0 if stacked else 2, "fillOpacity": 60 if stacked else 0},
        **{"lineInterpolation": "stepAfter" if stepped else "linear", "showPoints": "never", "spanNulls": False},
        "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
    }
    options = {"legend": legend, "tooltip": {"mode": "multi", "sort": "none", "hideZeros": False}}
    fields = {"color": {"mode": "palette-classic"}} | MISSING | defaults
    fields["custom"] = custom | defaults.get("custom", {})
    more = {"maxDataPoints": POINTS}
    return Panel("timeseries", title, description, list(queries), options, fields, overrides or [], more)


def timeline(title: str, description: str, *queries: Query, mapping: list[Json]) -> Panel:
    """States over time, a row for each series."""
    options = {
        **{"mergeValues": True, "showValue": "never", "alignValue": "left", "rowHeight": 0.8, "legend": LEGEND},
        "tooltip": {"mode": "single", "sort": "none", "hideZeros": False},
    }
    fields = {"unit": "none", "mappings": mapping, "custom": {"fillOpacity": 80, "lineWidth": 0}} | colored([(None, NEUTRAL)]) | MISSING
    return Panel("state-timeline", title, description, list(queries), options, fields, more={"maxDataPoints": POINTS})


# A column of a table: a label or `Value #A`, its title, and what is configured for it, as in `override`.
Column = NamedTuple("Column", [("name", str), ("title", str), ("properties", Json)])


def column(name: str, title: str, width: int = 0, **properties: Any) -> Column:
    """One that is `width` wide, or shares the rest of the table."""
    if width:
        properties["custom__width"] = width
    return Column(name, title, properties)


def word_column(name: str, title: str, width: int, *mapping: tuple[str, str]) -> Column:
    return column(name, title, width, mappings=words(*mapping), custom__cellOptions={"type": "color-text"})


def ratio_columns(name: str, without: str = "unknown") -> list[Column]:
    """The figure, and beside it a bar to scale: with a text in it, Grafana would shorten the bar by that."""
    bar = {"type": "gauge", "mode": "basic", "valueDisplayMode": "hidden"}
    color = {"mode": "fixed", "fixedColor": GOOD}
    # Grafana counts the padding of the cell, 12 pixels, as part of the bar: 100 % is to fill what is left.
    width, full = 140, 140 / (140 - 12)
    return [
        column(name, "Completion", 105, **PERCENT, noValue=without),
        column("Bar", "0 to 100 %", width, unit="percentunit", min=0, max=full, color=color, custom__cellOptions=bar),
    ]


# What tells two accounts apart comes last. Who has no such labels, has no such columns.
ACCOUNT_COLUMNS = [
    column(name, title, custom__minWidth=width)
    for name, title, width in (("job", "Job", 130), ("namespace", "Namespace", 110), ("cluster", "Cluster", 100))
]
OPEN = {"type": "regex", "options": {"pattern": ".+", "result": {"index": 0, "text": "open"}}}
TO_WORK = link("Open where it is translated", "${__value.raw}", away=True)
WORK = column("url", "Work", 60, mappings=[OPEN], links=[TO_WORK])


def grid(
    title: str, description: str, queries: list[Query], defaults: Json, transformations: list[Json], overrides: list[Json],
    *, sort: str, descending: bool = False, frozen: int, repeat: str = "",
) -> Panel:
    """Current rows, sorted by the column of this name; the first columns stay in view."""
    custom = {"align": "auto", "cellOptions": {"type": "auto"}, "inspect": False, "filterable": False}
    defaults = defaults | {"custom": custom | defaults.get("custom", {})}
    options: Json = {"showHeader": True, "cellHeight": "sm", "frameIndex": 0, "frozenColumns": {"left": frozen}}
    options["sortBy"] = [{"displayName": sort, "desc": descending}]
    more: Json = {"transformations": transformations}
    if repeat:
        more |= {"repeat": repeat, "repeatDirection": "v"}
    return Panel("table", title, description, queries, options, defaults, overrides, more)


def table(
    title: str, description: str, queries: list[str], columns: list[Column],
    *, sort: str, descending: bool = False, frozen: int = 1, without: str = MISSING["noValue"],
) -> Panel:
    """The rows of all queries, joined by the labels that they share, in these columns; `without` is said where there is no row."""
    names = [each.name for each in columns]
    optional = ("cluster", "namespace", "url", "Bar")
    # A row of which nothing is shown keeps the columns where there is no other.
    empty = "vector(0)"
    for label in (name for name in names if " " not in name and name not in optional):
        empty = f'label_replace({empty}, "{label}", "-", "", "")'
    is_empty = {"fieldName": f"Value #{chr(ord('A') + len(queries))}", "config": {"id": "isNotNull", "options": {}}}
    transformations: list[Json] = [
        {"id": "merge", "options": {}},
        {"id": "filterByValue", "options": {"filters": [is_empty], "type": "exclude", "match": "any"}},
    ]
    if "Bar" in names:
        figure = names[names.index("Bar") - 1]
        copy = {"mode": "reduceRow", "reduce": {"include": [figure], "reducer": "lastNotNull"}, "alias": "Bar"}
        transformations.append({"id": "calculateField", "options": copy | {"replaceFields": False}})
    organize = {
        "indexByName": {name: at for at, name in enumerate(names)},
        "renameByName": {each.name: each.title for each in columns if each.name != each.title},
    }
    transformations += [
        {"id": "filterFieldsByName", "options": {"include": {"names": names}}},
        {"id": "organize", "options": organize},
    ]
    # Grafana would say it in empty cells too.
    overrides = [override("/./", noValue=""), *(override(each.title, **each.properties) for each in columns if each.properties)]
    all_queries = [Query(expr) for expr in [*queries, empty]]
    return grid(
        title, description, all_queries, {"unit": "locale", "noValue": without}, transformations, overrides,
        sort=sort, descending=descending, frozen=frozen,
    )


# A height, and panels with their widths, 24 in sum.
Line = tuple[int, list[tuple[Panel, int]]]
# A heading, a question, and the lines below it.
Row = NamedTuple("Row", [("title", str), ("lines", list[Line])])


def side_by_side(height: int, *panels: Panel) -> Line:
    """A line of panels of one width."""
    return height, [(panel, 24 // len(panels)) for panel in panels]


# The dashboards, and the variables besides those of KEPT that each takes from a link above the panels.
DASHBOARDS = {
    "translation-progress": ("Translation progress", ["language"]),
    "translation-repository": ("Translation of a repository", ["repo", "language"]),
    "translation-exporter": ("Translation exporter", []),
}


def top_link(title: str, url: str, tooltip: str, icon: str = "doc") -> Json:
    """A link above the panels."""
    plain = {"type": "link", "tags": [], "asDropdown": False, "includeVars": False, "keepTime": False}
    return plain | {"title": title, "url": url, "tooltip": tooltip, "icon": icon, "targetBlank": icon == "doc"}


def dashboard(
    uid: str, description: str, variables: list[Json], rows: list[Row], *, since: str, events: list[Json] | None = None
) -> Json:
    own = {variable["name"] for variable in variables}
    links = []
    for other, (title, taken) in DASHBOARDS.items():
        url = address(other, *KEPT, *given(name for name in taken if name in own))
        if other != uid:
            links.append(top_link(title, url, f"{title}, of what is selected here", "dashboard"))
    title, _ = DASHBOARDS[uid]
    panels: list[Json] = []
    y = 0
    for row in rows:
        place = {"x": 0, "y": y, "w": 24, "h": 1}
        heading = {"id": len(panels) + 1, "type": "row", "title": row.title, "collapsed": False, "gridPos": place, "panels": []}
        panels.append(heading)
        y += 1
        for height, line in row.lines:
            x = 0
            for panel, width in line:
                panels.append(panel.at(len(panels) + 1, {"x": x, "y": y, "w": width, "h": height}))
                x += width
            if x != 24:
                raise ValueError(f"{title}: a line of {row.title!r} is {x} wide instead of 24")
            y += height
    return {
        "id": None,
        "uid": uid,
        "title": title,
        "description": description,
        "tags": ["translation-exporter"],
        **{"schemaVersion": 39, "version": 1, "editable": False, "graphTooltip": 1},
        **{"refresh": "5m", "time": {"from": since, "to": "now"}, "timepicker": {}},
        **{"timezone": "browser", "weekStart": "", "fiscalYearStartMonth": 0},
        "links": [*links, top_link("Runbook", RUNBOOK, "What each alert means and what to do about it")],
        "annotations": {"list": events or []},
        "templating": {"list": variables},
        "panels": panels,
    }
