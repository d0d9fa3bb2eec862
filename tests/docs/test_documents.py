"""Every shell block of the documents runs, in the order of its document, in a network of its own and in a copy of this repository.

Addresses, paths of the system, registries and releases are replaced. stubs.sh stands for commands that would leave this machine.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import PATIENCE, ROOT, FakeApi, running, wait_for

HERE = Path(__file__).parent
STUBBED = "translation-exporter prometheus alertmanager cargo kubectl helm docker systemctl gh cosign jb npx sudo mail pytest"
FILES = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
DOCUMENTS = [file for file in FILES if re.fullmatch(r"(README|CONTRIBUTING|docs/.*|deploy/.*|grafana/.*)\.md", file)]
RELEASES = r"https://github\.com/translation-exporter/translation-exporter/releases/download/v[^/ ]+/"
OVERLAYS = r"https://github\.com/[^/]+/[^/]+//deploy/kubernetes/overlays/(\S+?)\?ref=v[^\s\"]+"


def blocks(document, language="sh"):
    found = re.findall(rf"(?ms)^( *)```(?:{language})\n(.*?)^\1```", (ROOT / document).read_text())
    return [re.sub(f"(?m)^{indent}", "", text) for indent, text in found]


@pytest.fixture(scope="session")
def released(program, tmp_path_factory):
    """The archive of a release, whose program runs the one that cargo built, with its checksums."""
    folder = tmp_path_factory.mktemp("released")
    (folder / "program").write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
    subprocess.run([ROOT / "deploy/release/package.sh", folder / "program", folder / "files"], check=True)
    subprocess.run("sha256sum *.tar.gz >SHA256SUMS", shell=True, cwd=folder / "files", check=True)
    return folder / "files"


class Machine:
    """A network with the API, a folder ROOT in place of /, a copy TREE of this repository, and stubs of commands."""

    def __init__(self, stack, folder, built, released, certificate):
        self.root, self.tree, stubs = folder / "root", folder / "tree", folder / "stubs"
        for file in FILES:
            if (ROOT / file).exists() and not file.startswith("src/"):
                (self.tree / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, self.tree / file)
        shutil.copytree(released, self.root / "released")
        for path in (
            "etc/systemd/system",
            "etc/translation-exporter",
            "usr/local/bin",
            "var/lib/node_exporter",
            "var/lib/translation-exporter",
            "run/secrets",
        ):
            (self.root / path).mkdir(parents=True)
        (self.root / "pushed").touch()
        stubs.mkdir()
        for name in STUBBED.split():
            (stubs / name).symlink_to(HERE / "stubs.sh")
        holder = ["unshare", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", "ip link set lo up && touch up && exec sleep infinity"]
        process = stack.enter_context(running(holder, folder / "log", cwd=folder))
        stack.callback(process.kill)  # The process ignores SIGTERM.
        wait_for("the network", lambda: (folder / "up").exists() or process.poll())
        namespaces = f"/proc/{process.pid}/ns"
        self.enter = ["nsenter", f"--net={namespaces}/net", f"--pid={namespaces}/pid_for_children"]
        self.api = stack.enter_context(FakeApi(*self.enter, built / "examples/fake-api"))
        self.api.put((42, "acme/webshop", {"de": 100, "fr": 96, "pl": 97, "pt-BR": 95}), (43, "acme/app-one", {"de": 100, "pt-BR": 95}))
        self.environment = {
            "PATH": f"{stubs}:{os.environ['PATH']}",
            "HOME": str(folder),
            "PROGRAM": str(built / "translation-exporter"),
            "TREE": str(self.tree),
            "ROOT": str(self.root),
            "KEY": FakeApi.KEY,
            "BASE_URL": self.api.url,
            "PULL_REQUEST": "7",
            "NS": "any",
            "NAME": "any",
        }
        certificate("tls")
        for place in (self.root, self.tree):
            (place / "api-key").write_text(f"{FakeApi.KEY}\n")
            (place / "values.yaml").write_text(f"config: {{api: {{base_url: '{self.api.url}', page_size: 5}}}}")
            for name in ("tls.crt", "tls.key", "ca.crt"):
                shutil.copy(folder / f"tls.{'key' if name == 'tls.key' else 'pem'}", place / name)
        for secrets in ("etc/translation-exporter/api-key", "run/secrets/api-key", "var/run/secrets/translation-exporter/key"):
            (self.root / secrets).parent.mkdir(parents=True, exist_ok=True)
            (self.root / secrets).write_text(FakeApi.KEY)
        (self.root / "usr/local/bin/translation-exporter").symlink_to(built / "translation-exporter")
        (self.root / "etc/translation-exporter/config.yaml").write_text(
            f"api: {{base_url: '{self.api.url}'}}\nstate: {{file: state.json}}\n"
        )

    def replaced(self, text):
        chart = self.tree / "deploy/helm/translation-exporter"
        (chart.parent / "released").exists() or (chart.parent / "released").symlink_to(chart)
        for pattern, by in (
            (r"https://(?:api|translations)\.example\.com", self.api.url),
            (RELEASES, f"file://{self.root}/released/"),
            (OVERLAYS, rf"{self.tree}/deploy/kubernetes/overlays/\1"),
            (r"oci://ghcr\.io/translation-exporter/charts/translation-exporter --version \S+", f"{chart.parent}/released"),
            (r"(?<![\w/}.])/(?:etc|usr/local/bin|var/lib|var/run|run/secrets)/", lambda found: f"{self.root}{found[0]}"),
        ):
            text = re.sub(pattern, by, text)
        return text

    def run(self, text, folder=".", **variables):
        """Runs the text with a key on the standard input."""
        command = [*self.enter, "bash", "-euo", "pipefail", "-c", self.replaced(text)]
        options = {"cwd": self.tree / folder, "env": self.environment | variables, "input": f"{FakeApi.KEY}\n"}
        return subprocess.run(command, **options, capture_output=True, text=True, timeout=PATIENCE)


@pytest.fixture
def machine(ends, tmp_path, built, released, certificate):
    return Machine(ends, tmp_path, built, released, certificate)


# The folder in which a reader works, unless it is that of the repository.
FOLDERS = {"deploy/prometheus/README.md": "deploy/prometheus"}
EXPECTED = {"README.md": "acme/webshop", "docs/api.md": "acme/webshop", "deploy/helm/translation-exporter/README.md": "page_size: 5"}


@pytest.mark.parametrize("document", [document for document in DOCUMENTS if blocks(document, "sh|console")])
def test_every_shell_block_runs(document, machine, ends):
    for service in blocks(document, "python"):
        (machine.tree / "service.py").write_text(service)
        ends.enter_context(running([*machine.enter, "python3", machine.tree / "service.py"], machine.root / "service.log"))
    account = {"API__BASE_URL": machine.api.url, "API__KEY_FILE": "api-key"} if document == "docs/reports.md" else {}
    variables = {f"TRANSLATION_EXPORTER_{name}": value for name, value in account.items()}
    said = ""
    for number, block in enumerate(blocks(document, "sh|console")):
        done = machine.run(block, FOLDERS.get(document, "."), **variables)
        said += done.stdout
        assert done.returncode == 0, f"block {number} ended with {done.returncode}:\n{block}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert EXPECTED.get(document, "") in said, said


def test_the_lines_of_cron_run_and_never_meet(machine):
    (table,) = (block for block in blocks("docs/reports.md", "text") if "* * 1 root" in block)
    variables = dict(line.split("=", 1) for line in table.splitlines() if re.match(r"\w+=", line))
    times = []
    for line in table.splitlines()[len(variables) :]:
        minute, hour, *_, command = line.split(maxsplit=6)
        minutes = range(0, 60, int(minute[2:])) if minute.startswith("*/") else [int(minute)]
        times.append({(m, h) for m in minutes for h in (range(24) if hour == "*" else [int(hour)])})
        done = machine.run(command, **{name: machine.replaced(value) for name, value in variables.items()})
        assert done.returncode == 0, done.stderr
    assert len(times) == 2 and not times[0] & times[1], "both want the lock of the state at once"


def test_the_table_of_sizes_names_the_series_at_first_and_when_all_are_overdue(api, exporter, tmp_path):
    api.command("fill", [100, 10])
    (tmp_path / "dated.yaml").write_text("targets: [{due: 2020-02-29}]")
    (row,) = re.findall(r"(?m)^\| 100 \| ([\d,]+) \| ([\d,]+) \|", (ROOT / "docs/sizing.md").read_text())
    for figure, *options in zip(row, ("--log.level=info", "--config.file=dated.yaml"), strict=True):
        text = exporter(*options, api=api, poll__interval="1h").wait_for_poll().get()
        series = sum(not line.startswith("#") for line in text.splitlines())
        assert series == pytest.approx(int(figure.replace(",", "")), rel=0.02), options
