"""Reads the dashboards and the alerts: their panels, their queries, and what those select."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import promql_parser as promql
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "grafana" / "dashboards"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"

Json = dict[str, Any]


def load() -> list[Json]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))]


def panels(dashboard: Json) -> list[Json]:
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def variables(dashboard: Json) -> dict[str, Json]:
    return {variable["name"]: variable for variable in dashboard["templating"]["list"]}


@dataclass
class Query:
    """A query, and where it was found."""

    where: str
    expr: str
    instant: bool = False
    panel: Json | None = None
    target: Json | None = None


def targets(dashboard: Json) -> Iterator[Query]:
    for panel in panels(dashboard):
        for target in panel["targets"]:
            where = f"{dashboard['title']} / {panel['title']} / {target['refId']}"
            yield Query(where, target["expr"], target["instant"], panel, target)


def events(dashboard: Json) -> Iterator[Query]:
    for event in dashboard["annotations"]["list"]:
        yield Query(f"{dashboard['title']} / {event['name']}", event["target"]["expr"])


def choices(dashboard: Json) -> Iterator[Query]:
    """What the variables ask for."""
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            match = re.fullmatch(r"(?:label_values|query_result)\((.+?)(?:, (\w+))?\)", variable["query"])
            assert match, f"{variable['query']} is no known query"
            yield Query(f"{dashboard['title']} / ${variable['name']}", match[1])


def alerts() -> Iterator[Query]:
    for group in yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]:
        for rule in group["rules"]:
            if "alert" in rule:
                yield Query(rule["alert"], rule["expr"])


DURATIONS = {"__rate_interval": "1m", "__interval": "15s", "__range": "1h"}


def parse(expr: str) -> promql.Expr:
    """The expression with values for durations; other variables stay, as they are parts of strings."""
    for name, value in DURATIONS.items():
        expr = expr.replace(f"${name}", value)
    return promql.parse(expr)


def nodes(expr: promql.Expr, parents: tuple[promql.Expr, ...] = ()) -> Iterator[tuple[promql.Expr, tuple]]:
    """Every node of an expression with those above it, the root first."""
    yield expr, parents
    below: list[promql.Expr | None] = []
    match expr:
        case promql.BinaryExpr():
            below = [expr.lhs, expr.rhs]
        case promql.AggregateExpr():
            below = [expr.param, expr.expr]
        case promql.Call():
            below = list(expr.args)
        case promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            below = [expr.expr]
        case promql.MatrixSelector():
            below = [expr.vector_selector]
    for node in below:
        if node is not None:
            yield from nodes(node, (*parents, expr))


def selectors(expr: promql.Expr) -> Iterator[tuple[promql.VectorSelector, tuple]]:
    for node, parents in nodes(expr):
        if isinstance(node, promql.VectorSelector):
            yield node, parents


def labels_named(expr: promql.Expr) -> set[str]:
    """The labels that aggregations and matchings name."""
    named: set[str] = set()
    for node, _ in nodes(expr):
        modifier = getattr(node, "modifier", None)
        if isinstance(node, promql.AggregateExpr) and modifier:
            named |= set(modifier.labels)
        if isinstance(node, promql.BinaryExpr) and modifier and modifier.matching:
            named |= set(modifier.matching.labels)
    return named
