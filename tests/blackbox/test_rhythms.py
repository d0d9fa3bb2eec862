"""The judgement of work by the running program under a moved clock: `once` with a state file reads each situation for forty days."""

import json
import os
import subprocess
from datetime import UTC, datetime, timedelta

from harness import FakeApi

START = datetime(2026, 3, 2, tzinfo=UTC)  # a Monday
DUE = "2026-03-31"  # day 29

# A language for each situation: the completions from a day on, and what is said later. A check has the day, the problems, and a
# part of `expected`: the day as a number, None for "does not move", "new" for a pace that is not known, "" for what is not told.
SITUATIONS = {
    # Neither progress nor ready for seven days.
    "idle": ({0: 50}, [(6.5, [], None), (7.5, ["stalled"], None), (39, ["stalled"], None)]),
    # What was ready and gets new text has not stalled before its people had that time.
    "text": ({0: 100, 20.5: 90}, [(20.75, [], "new"), (27, [], None), (27.75, ["stalled"], None)]),
    # A fall stands in no way: 100, 80, 83 is progress.
    "fell": ({0: 100, 10.5: 80, 15.5: 83}, [(16, [], 50), (22, [], 90), (22.75, ["stalled"], None)]),
    # A text that is taken back within two days, and two replicas that disagree, are no progress.
    "back": ({0: 60, 5.5: 55, 7: 60}, [(7.5, ["stalled"], None)]),
    "pair": ({day / 2: 60 + 2 * (day % 2) for day in range(20)}, [(7, [], 147), (9, ["stalled"], None)]),
    # The pace is what was gained in the last 14 days, divided by the days of them that ended unready.
    "week": (
        {0: 100} | {7 * week + day: value for week in range(5) for day, value in {0.5: 80, 1.5: 85, 2.5: 90, 3.5: 95, 4.5: 100}.items()},
        [(29, ["regressed"], 33), (30, [], 33), (31, [], 33)],
    ),
    # Expected after the next two years: not told.
    "long": ({0: 10, 3: 10.05}, [(9, [], None)]),
    # At risk: its date is near, and it is expected after it, or does not move.
    "slow": ({day: 40 + day / 2 for day in range(40)}, [(14, [], 120), (16, ["at_risk"], 113), (30, ["overdue"], 114)]),
    "fast": ({day: 40 + 2.5 * day for day in range(25)}, [(16, [], 23)]),
    # Regressed: its highest completion of the last 7 days was 0.2 above, whatever was before.
    "down": ({0: 100, 10.5: 79, 14.5: 81.5}, [(11, ["regressed"], "new"), (15, [], 52), (20, [], 94)]),
    # Overdue: its date is past, also if its completion is not known, unless it was ready when it was last known.
    "lost": ({0: 50, 20: None}, [(28, [], ""), (31, ["overdue"], "")]),
    "done": ({0: 100, 20: None}, [(31, [], "")]),
}
DATED = ["slow", "fast", "lost", "done"]


def says(language, day):
    """Tells what is expected of a language, in the terms of SITUATIONS."""
    if language["estimated_ready"]:
        return round((datetime.fromisoformat(language["estimated_ready"]) - START) / timedelta(days=1))
    if language["not_judged"] == "too_early":
        return "new"
    return "" if language["not_judged"] or language["ready"] else None


def test_what_is_said_of_people_who_work_is_true(api, program, tmp_path):
    (tmp_path / "config.yaml").write_text(
        f"api: {{base_url: '{api.url}', key: {FakeApi.KEY}, requests_per_second: 0}}\n"
        f"state: {{file: state.json}}\ntargets:\n  - {{languages: [{', '.join(DATED)}], due: {DUE}}}\n"
    )
    days = {day for values, checks in SITUATIONS.values() for day in [*values, *(check[0] for check in checks)]}
    wrong = []
    for day in sorted(days):
        now = {code: values[max(at for at in values if at <= day)] for code, (values, _) in SITUATIONS.items()}
        api.put((1, "acme/app", now))
        at = START + timedelta(days=day)
        command = ["faketime", "-f", at.strftime("@%F %T"), program, "once", "--config.file=config.yaml", "--output=json"]
        ended = subprocess.run(command, cwd=tmp_path, env={**os.environ, "TZ": "UTC"}, capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, ended.stderr
        languages = {language["code"]: language for language in json.loads(ended.stdout)["repositories"][0]["languages"]}
        for code, (_, checks) in SITUATIONS.items():
            for _, problems, expected in (check for check in checks if check[0] == day):
                said = languages[code]["problems"], says(languages[code], day)
                if said != (problems, expected):
                    wrong.append((code, day, said))
    assert not wrong, str(wrong)
