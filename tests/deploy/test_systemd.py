"""The systemd unit, as this machine's systemd reads it, and the system calls of the program that it confines."""

import re
import shutil
import signal
import subprocess
import urllib.request

import pytest
from harness import PATIENCE, ROOT, address, running

UNIT = ROOT / "deploy/systemd/translation-exporter.service"
INSTANCE = "translation-exporter@acme.service"


@pytest.fixture
def units(tmp_path, program):
    """A folder with the unit under both of its names."""
    text = UNIT.read_text().replace("ExecStart=translation-exporter", f"ExecStart={program}")
    for name in (UNIT.name, "translation-exporter@.service"):
        (tmp_path / name).write_text(text)
    shutil.copy(tmp_path / "translation-exporter@.service", tmp_path / INSTANCE)
    return tmp_path


@pytest.mark.parametrize("name", [UNIT.name, INSTANCE])
def test_systemd_accepts_the_unit_and_rates_it_as_well_confined(units, name):
    verify = ["systemd-analyze", "verify", "--recursive-errors=no", "--man=no", units / name]
    said = subprocess.run(verify, check=True, capture_output=True, text=True)
    assert said.stdout + said.stderr == ""
    # The threshold is in tenths.
    security = ["systemd-analyze", "security", "--offline=true", "--threshold=14", "--no-pager", units / name]
    subprocess.run(security, check=True, capture_output=True)


@pytest.mark.slow
def test_the_program_stays_within_the_system_calls_that_the_unit_allows(static, tmp_path):
    log, calls = tmp_path / "log", tmp_path / "calls"
    command = ["strace", "-f", "-qq", "-DD", "-o", calls, static, "demo", "--web.listen-address=127.0.0.1:0"]
    with running(command, log) as process:
        with urllib.request.urlopen(f"http://{address(process, log)}/metrics", timeout=PATIENCE) as response:
            assert b"translation_ready" in response.read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    allowed = system_calls("@system-service") | system_calls("@default")
    denied = system_calls("@privileged") | system_calls("@resources")
    assert set(re.findall(r"(?m)^\d+ +(\w+)\(", calls.read_text())) <= allowed - denied


def system_calls(name):
    """The members of a set of systemd, and of the sets in it."""
    said = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name], check=True, capture_output=True, text=True).stdout
    members = {line.strip() for line in said.splitlines()[1:] if line.startswith(" ") and not line.strip().startswith("#")}
    return {call for one in members for call in (system_calls(one) if one.startswith("@") else {one})}
