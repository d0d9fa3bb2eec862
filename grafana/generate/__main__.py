"""Writes the dashboards, and what grafana/dashboard-linter must know of them, into grafana/dashboards or another folder:
`python3 grafana/generate [FOLDER]`.
"""

import json
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the folder stays as it is checked out

import exporter  # noqa: E402
import progress  # noqa: E402
import repository  # noqa: E402
from blocks import Json  # noqa: E402

WIDTH = 120


def text(value: object, indent: int = 0, taken: int = 0) -> str:
    """JSON that puts on one line what fits on one, so that a change is a short difference.

    `taken` is how much of the line is already written: the indentation, a key, and the comma to come.
    """
    short = json.dumps(value, ensure_ascii=False)
    if taken + len(short) <= WIDTH or not isinstance(value, dict | list) or not value:
        return short
    inner = indent + 2
    if isinstance(value, dict):
        keys = [f"{json.dumps(key)}: " for key in value]
        parts = [key + text(item, inner, inner + len(key) + 1) for key, item in zip(keys, value.values(), strict=True)]
        opening, closing = "{}"
    else:
        parts = [text(item, inner, inner + 1) for item in value]
        opening, closing = "[]"
    lines = ",\n".join(" " * inner + part for part in parts)
    return f"{opening}\n{lines}\n{' ' * indent}{closing}"


# Series without a label that the linter wants in every query.
RULES = {
    "target-job-rule": (r"kube_", "Limits of memory are those of pods."),
    "target-instance-rule": (r"kube_", "Limits of memory are those of pods."),
}


def exclusions(dashboards: list[Json]) -> str:
    """The queries of such series, as the linter's file has them."""
    lines = ["# Written by grafana/generate.", "exclusions:"]
    for rule, (pattern, reason) in RULES.items():
        lines += [f"  {rule}:", f"    reason: {reason}", "    entries:"]
        for dashboard in dashboards:
            for panel in dashboard["panels"]:
                for at, target in enumerate(panel.get("targets", [])):
                    if re.search(pattern, target["expr"]):
                        entry = {"dashboard": dashboard["title"], "panel": panel["title"], "targetidx": str(at)}
                        lines.append(f"      - {json.dumps(entry, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "dashboards"
dashboards = [module.build() for module in (progress, repository, exporter)]
for dashboard in dashboards:
    (folder / f"{dashboard['uid']}.json").write_text(text(dashboard) + "\n", encoding="utf-8")
(folder / ".lint").write_text(exclusions(dashboards), encoding="utf-8")
