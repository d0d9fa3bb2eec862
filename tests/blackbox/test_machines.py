"""Machines that lack something, made by seccomp and leases on files. Needs root."""

import ctypes
import errno
import fcntl
import os
import signal
import socket
import struct
import subprocess
import termios
import time

from harness import FakeApi, address, get, running, wait_for


def forbid(call, first_argument, error):
    """Makes a system call with this argument (any, if none) fail in this process: a filter of seccomp in bytes."""
    number = {"x86_64": {"socket": 41, "flock": 73}, "aarch64": {"socket": 198, "flock": 32}}[os.uname().machine][call]
    load, equals, returns, refuse, allow = 0x20, 0x15, 0x06, 0x00050000 | error, 0x7FFF0000
    argument = [] if first_argument is None else [(load, 0, 0, 16), (equals, 0, 1, first_argument)]
    lines = [(load, 0, 0, 0), (equals, 0, 1 + len(argument), number), *argument, (returns, 0, 0, refuse), (returns, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    filter_program = struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    no_new_privileges, seccomp, by_filter = 38, 22, 2
    if prctl(no_new_privileges, 1, 0, 0, 0) or prctl(seccomp, by_filter, ctypes.c_char_p(filter_program)):
        raise OSError(ctypes.get_errno(), "the filter is refused")


def forbid_ipv6():
    forbid("socket", socket.AF_INET6, errno.EAFNOSUPPORT)


def forbid_locks():
    forbid("flock", None, errno.ENOLCK)


def test_a_folder_without_locks_is_refused_by_every_command(program, tmp_path):
    options = ["--api.base-url=https://127.0.0.1:1", "--state.file=state.json"]
    environment = {**os.environ, "TRANSLATION_EXPORTER_API__KEY": FakeApi.KEY}
    for command in ("check-config", "serve", "once"):
        arguments = [program, command, *options]
        ended = subprocess.run(
            arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=20, preexec_fn=forbid_locks
        )
        assert ended.returncode == 2 and "state.json: No locks available" in ended.stderr and "with locks" in ended.stderr


def test_without_ipv6_and_proc_only_the_metrics_of_the_process_are_missing(api, program, tmp_path):
    api.put((1, "owner/repo", {"de": 40}))
    without_proc = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" "$@"']
    key = tmp_path / "key"
    key.write_text(FakeApi.KEY)
    command = [*without_proc, program, f"--api.base-url={api.url}", f"--api.key-file={key}", "--web.listen-address=:0"]
    log = tmp_path / "log"
    with running(command, log, preexec_fn=forbid_ipv6) as process:
        url = f"http://{address(process, log, '0.0.0.0').replace('0.0.0.0', '127.0.0.1')}"
        metrics = wait_for("a whole poll", lambda: (found := get(f"{url}/metrics")) and 'repo="owner/repo"' in found and found)
        assert "process_resident_memory_bytes" not in metrics
        assert get(f"{url}/")


def test_a_key_file_that_hangs_does_not_delay_the_end(api, exporter, tmp_path):
    api.put((1, "owner/repo", {"de": 40}))
    key = tmp_path / "key"
    key.write_text(FakeApi.KEY)
    started = exporter(api=api, api__key="", api__key_file=key, api__timeout="100ms", poll__interval="1s").wait_for_poll()
    # An open of the file hangs while this process holds a lease on it, for which Linux allows 45 s.
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    try:
        with open(key, "r+") as file:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            started.wait_until("translation_up", 0)
            started.process.terminate()
            assert started.process.wait(40) == 0, "before Linux ends the lease"
    finally:
        signal.signal(signal.SIGIO, before)
    wait_for("the last line", lambda: "level=info" in started.log())
    assert "not everything ended in time" not in started.log(), "everything ended by itself"


def test_a_stopped_terminal_holds_up_neither_once_nor_its_end(start_api, program):
    for stop, repositories, code in ((False, 60, 0), (True, 200, 1)):
        api = start_api()
        api.put(*((number, f"owner/{number}", {"de": 40}) for number in range(1, repositories + 1)))
        keys = {"API__BASE_URL": api.url, "API__KEY": FakeApi.KEY, "API__REQUESTS_PER_SECOND": "10"}
        variables = {f"TRANSLATION_EXPORTER_{name}": value for name, value in keys.items()}
        screen, terminal = os.openpty()
        termios.tcsetwinsize(terminal, (24, 80))
        # As after Ctrl-S: a write blocks.
        termios.tcflow(terminal, termios.TCOOFF)
        environment = os.environ | variables | {"TERM": "xterm"}
        once = subprocess.Popen([program, "once"], env=environment, stdout=subprocess.DEVNULL, stderr=terminal)
        try:
            # The poller publishes every five seconds; the first draw blocks.
            time.sleep(6)
            if stop:
                once.terminate()
            assert once.wait(20) == code
        finally:
            once.kill()
            os.close(screen)
            os.close(terminal)
