"""Checks what promtool does not: what each alert says, its runbook and its tests.

`check.py expressions` prints the expressions of all alerts, and of the README's overrides, as a JSON array instead. `check.py promtool FOLDER` writes the tests to that
folder, as promtool has them.
"""

import json
import pathlib
import re
import sys

import cases
import yaml

README = (cases.ALERTS.parent / "README.md").read_text()
SECTIONS = ("**Means**", "**Impact**", "**See**", "**Do**", "**If nobody reacts**")
EXPOSED = re.compile(r"\b(?:up|process_start_time_seconds|translation_\w+)\b")

problems = []


def runbook_sections():
    """Section texts by the anchor that GitHub gives their heading."""
    parts = re.split(r"^#+ (.+)$", README, flags=re.MULTILINE)
    anchors = (re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in parts[1::2])
    return dict(zip(anchors, parts[2::2]))


def check_alert(rule, sections, tests):
    """The texts and the link are compared by the tests, which expect a notification of each alert."""
    name, severity = rule["alert"], rule["labels"]["severity"]
    if severity not in {"critical", "warning", "info"}:
        problems.append(f"{name} has no severity of critical, warning or info")
    annotations = rule["annotations"]
    if "{{" in annotations["summary"]:
        problems.append(f"the summary of {name} is not the same for all of its alerts")
    if not {"$labels.job", "$labels.repo"} & set(re.findall(r"\$labels\.\w+", annotations["description"])):
        problems.append(f"the description of {name} does not say where")
    section = sections.get(name.lower())
    if section is None:
        problems.append(f"the runbook has no section for {name}")
    else:
        problems.extend(f"the runbook's section on {name} lacks {part}" for part in SECTIONS if part not in section)
        if " ".join(rule["expr"].split()) not in " ".join(section.split()):
            problems.append(f"the runbook's section on {name} does not show its expression")
        if f"*{severity}, per " not in section:
            problems.append(f"the runbook's section on {name} does not say that its severity is {severity}")
    of_this = [test for test in tests if test["alert"] == name]
    if not any(test.get("notified") for test in of_this):
        problems.append(f"no test expects a notification of {name}")
    if not any([] in (test.get("firing", {}) | test.get("active", {})).values() for test in of_this):
        problems.append(f"no test expects {name} to be silent")


def main():
    alerts = [rule for group in yaml.safe_load(cases.ALERTS.read_text())["groups"] for rule in group["rules"]]
    tests = cases.load()
    if sys.argv[1:] == ["expressions"]:
        blocks = (yaml.safe_load(block) for block in re.findall(r"^    prometheusRule:\n(?:    .*\n)+", README, re.MULTILINE))
        overrides = [one["expr"] for block in blocks for one in block["prometheusRule"]["overrides"].values()]
        json.dump([rule["expr"] for rule in alerts] + overrides, sys.stdout)
        return 0
    if sys.argv[1:2] == ["promtool"]:
        severities = {rule["alert"]: rule["labels"]["severity"] for rule in alerts}
        folder = pathlib.Path(sys.argv[2])
        for number, test in enumerate(tests):
            (folder / f"{test['alert']}-{number}.yaml").write_text(yaml.dump(cases.for_promtool(test, severities, folder)))
        return 0

    sections = runbook_sections()
    for rule in alerts:
        check_alert(rule, sections, tests)
        for exposed in EXPOSED.finditer(rule["expr"]):
            if rule["expr"][exposed.end():][:1] != "{":
                problems.append(f"{exposed[0]} has no braces, into which the mixin would put its selector, in: {rule['expr']}")
    for link in re.findall(r"\]\(#([^)]+)\)", README):
        if link not in sections:
            problems.append(f"the README links to #{link}, which it does not have")

    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(alerts)} alerts checked, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
