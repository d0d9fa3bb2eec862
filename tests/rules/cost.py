"""What the rules cost a Prometheus, in folds: one fold is the CPU time of `max without (instance, pod) (…)` over one metric.

    PYTHONPATH=tests cost.py [--languages N] FOLDER…       each FOLDER holds alerts.yaml and recording-rules.yaml

Makes two weeks of history with promtool, for N languages (20,000 unless given, 20 in each repository), starts one Prometheus on
it, and evaluates every rule of every folder at the end of it. Of what is recorded, history holds a sample each 6 hours, and each
minute of the last day where a rule reads that day. For 20,000 languages it needs 5 GB below TMPDIR and some minutes.
The rules before a change: git archive COMMIT deploy/prometheus | tar -x -C FOLDER
"""

import argparse
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import yaml

from harness import Prometheus

MINUTE, HOUR, DAY = 60, 3600, 86400
LANGUAGES_OF_A_REPOSITORY = 20
TIMES = 5
END = int(time.time()) // HOUR * HOUR

# What the exporter exposes, by the labels that it has besides the target's.
EXPOSED = {
    "repo_language": ["translation_completion_ratio", "translation_last_progress_timestamp_seconds"],
    "repo": [
        "translation_repository_languages", "translation_repository_last_success_timestamp_seconds", "translation_repository_info",
    ],
    "instance": ["translation_up", "process_start_time_seconds"] + ["translation_exporter_" + name for name in (
        "poll_interval_seconds", "last_poll_duration_seconds", "last_poll_timestamp_seconds", "last_success_timestamp_seconds",
        "completion_scale", "completion_scale_suspect", "completion_out_of_scale", "listing_complete",
    )],
}
RECORDED_LABELS = 'job="translation-exporter",namespace="l10n"'
TARGET_LABELS = RECORDED_LABELS + ',instance="10.0.0.1:10018",pod="translation-exporter-0"'


def rules_of(folder):
    for file in ("recording-rules.yaml", "alerts.yaml"):
        for group in yaml.safe_load((pathlib.Path(folder) / file).read_text())["groups"]:
            minutes = int(group["interval"].removesuffix("m"))
            for rule in group["rules"]:
                yield rule.get("record") or rule["alert"], rule["expr"], minutes


def complete(number):
    return number % 3 == 0


def days_idle(number):
    return number % 14


def value_of(name, number):
    """A function of time. A third of the languages is complete; the rest rises, in steps of an hour and at a pace of their own."""
    if "timestamp" in name:
        return lambda at: END - days_idle(number) * DAY if "progress" in name else END - MINUTE
    if "ratio" in name:
        pace = number % 100 / 10_000
        return lambda at: 1 if complete(number) else round(0.4 + pace * ((at - END) // HOUR) / 24, 4)
    if "interval" in name:
        return lambda at: 300
    if name.endswith("scale") or "scale:" in name:
        return lambda at: 100
    if "suspect" in name or "out_of" in name:
        return lambda at: 0
    return lambda at: 1


def label_sets(level, languages):
    repositories = range(languages // LANGUAGES_OF_A_REPOSITORY)
    repos = [f'repo="acme/repository-{number:05}"' for number in repositories]
    codes = [f'language="l{number:02}"' for number in range(LANGUAGES_OF_A_REPOSITORY)]
    pairs = {
        "repo_language": [f"{repo},{code}" for repo in repos for code in codes],
        "repo": repos, "instance_repo": repos, "language": codes, "instance": [""], "job": [""],
    }
    return pairs[level]


def write(path, series, languages, times):
    with path.open("w") as file:
        for name, level, target in series:
            for number, labels in enumerate(label_sets(level, languages)):
                if name.endswith(":stalled") and (complete(number) or days_idle(number) <= 7):
                    continue
                if name == "translation_repository_info":
                    labels += f',id="{number}",private="true"'
                head = f"{name}{{{target}{',' if labels else ''}{labels}}}"
                value = value_of(name, number)
                file.write("".join([f"{head} {value(at)} {at}\n" for at in times]))
        file.write("# EOF\n")


def make_history(folder, rules, languages):
    expressions = " ".join(expr for _, expr, _ in rules)
    parts = [([(name, level, TARGET_LABELS) for level, names in EXPOSED.items() for name in names], range(END - HOUR, END + 1, MINUTE))]
    for name, _, minutes in rules:
        if re.search(rf"(?<![\w:]){re.escape(name)}(?![\w:])", expressions):
            level = name.partition(":")[0]
            series = [(name, level, TARGET_LABELS if level.startswith("instance") else RECORDED_LABELS)]
            recent = DAY if f"{name}[1d]" in expressions else HOUR
            parts.append((series, range(END - 15 * DAY, END - recent, 6 * HOUR)))
            parts.append((series, range(END - recent, END + 1, minutes * MINUTE)))
    for part, times in parts:
        source = folder / "history"
        write(source, part, languages, times)
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet", "--max-block-duration=720h",
                        source, folder / "tsdb"], check=True, stdout=subprocess.DEVNULL)
        source.unlink()


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost(prometheus, expr):
    """CPU seconds of one evaluation, and how many series it gives. They are counted there: JSON of all would cost more."""
    for turn in range(TIMES + 1):
        if turn == 1:
            before = cpu_seconds(prometheus.process)
        found = prometheus.now(f"count(({expr}))", END)
    return (cpu_seconds(prometheus.process) - before) / TIMES, int(found[0][1]) if found else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--languages", type=int, default=20_000)
    parser.add_argument("folders", nargs="+")
    arguments = parser.parse_args()
    for name in arguments.folders:
        rules = list(rules_of(name))
        with contextlib.ExitStack() as stack:
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
            make_history(folder, rules, arguments.languages)
            (folder / "empty.yaml").write_text("")
            prometheus = stack.enter_context(Prometheus.start(
                folder, "empty.yaml", "--storage.tsdb.retention.time=60d", "--query.max-samples=500000000"))
            fold, _ = cost(prometheus, "max without (instance, pod) (translation_completion_ratio)")
            print(f"{name}, {arguments.languages} languages; a fold takes {1000 * fold:.0f} ms of CPU\nfolds/min  every   series  rule")
            total = 0.0
            for rule, expr, minutes in rules:
                seconds, series = cost(prometheus, expr)
                total += seconds / minutes
                print(f"{seconds / minutes / fold:9.2f}  {minutes:3} m  {series:7}  {rule}")
            print(f"{total / fold:9.2f}  folds a minute, {total:.3f} s of CPU\n")


if __name__ == "__main__":
    main()
