"""The steps of the GitHub action and of GitLab's template, run where they will be: with bash, a few tools and a stub of `gh`, which
downloads a local archive, as on a runner of one's own; and in a root that holds BusyBox alone, as Alpine's image does."""

import functools
import hashlib
import http.server
import json
import os
import platform
import re
import shutil
import stat
import subprocess
import tarfile
import threading
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from harness import ROOT, FakeApi

ACTION = yaml.safe_load((ROOT / "deploy/ci/github/action.yml").read_text())
JOB = yaml.safe_load((ROOT / "deploy/ci/gitlab.yml").read_text())[".translations"]
VERSION = ACTION["inputs"]["version"]["default"]

# The commands on the PATH of a self-hosted runner.
TOOLS = ["bash", "basename", "cat", "cp", "grep", "gzip", "mkdir", "mktemp", "paste", "sed", "sh", "sha256sum", "tar"]
# Takes what it serves from $SERVED, and records how it was called in $CALLS.
GH = """#!/bin/sh
echo "$*" >>"$CALLS"
case $1 in
release) cp "$SERVED"/* . ;;
attestation) [ -e "$3" ] && exec sh -c "$ATTESTED" ;;
esac
"""
DOCS = (2, "acme/docs", {"de": 62.5})
EVIL = "evil/<img src=x>| @octocat"
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
# Paths that a shell or the program could take for something else; none of them exists.
ODD_PATHS = ("--help", "-", "(", "a b", "$(touch touched)", "`touch touched`", "; touch touched", "*")


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)


def release(folder, program):
    """The archive and the checksums of a release, as package.sh and the release workflow make them."""
    folder.mkdir()
    name = f"translation-exporter-{VERSION.removeprefix('v')}.linux-{ARCH}"
    with tarfile.open(folder / f"{name}.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(program, f"{name}/translation-exporter")
    digest = hashlib.sha256((folder / f"{name}.tar.gz").read_bytes()).hexdigest()
    others = f"{64 * '0'}  {name}.cdx.json\n"
    (folder / "SHA256SUMS").write_text(f"{others}{digest}  {name}.tar.gz\n")
    return folder


class Result(NamedTuple):
    code: int
    markdown: str
    log: str
    outputs: dict  # those of the action; of a job, the same names for the files that it leaves


class Runner:
    """A folder to work in, the served release, and the key of the account."""

    def __init__(self, folder, api, served):
        folder.mkdir(parents=True)
        self.folder, self.api, self.served, self.key = folder, api, served, FakeApi.KEY
        self.environment = {"TRANSLATION_EXPORTER_API__REQUESTS_PER_SECOND": "0"}

    def execute(self, command, script, environment):
        (self.folder / "script").write_text(script)
        done = subprocess.run(command, cwd=self.folder, env=self.environment | environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def unpacked(self):
        return list(self.folder.glob("*/translation-exporter"))


class GitHub(Runner):
    def __init__(self, folder, api, served):
        super().__init__(folder, api, served)
        self.bin, self.calls = folder / "bin", folder / "calls"
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        executable(self.bin / "gh", GH)
        self.environment |= {
            "PATH": str(self.bin),
            "HOME": str(folder),
            "SERVED": str(served),
            "CALLS": str(self.calls),
            "ATTESTED": "true",
            "RUNNER_TEMP": str(folder),
            "RUNNER_OS": "Linux",
            "RUNNER_ARCH": {"amd64": "X64", "arm64": "ARM64"}[ARCH],
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        }

    def run(self, page=False, **given):
        """Uses the action with these inputs."""
        given |= {"base_url": self.api.url, "api_key": self.key, "pages": str(page).lower()}
        inputs = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
        inputs |= {name.replace("_", "-"): value for name, value in given.items()}
        output, summary = self.folder / "output", self.folder / "summary"
        output.write_text("")
        summary.write_text("")
        log, code = "", 0
        for step in ACTION["runs"]["steps"]:
            if "run" in step and code == 0:
                code, said = self.step(step, inputs)
                log += said
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return Result(code, summary.read_text(), log, outputs)

    def step(self, step, inputs):
        """Executes one step of a shell, with its expressions put in."""
        values = {f"inputs.{name}": value for name, value in inputs.items()} | {"github.token": "a-token"}
        environment = {name: re.sub(r"\$\{\{ *(\S+) *\}\}", lambda found: values[found[1]], text) for name, text in step["env"].items()}
        assert step["shell"] == "bash" and "${{" not in step["run"], step
        return self.execute(["bash", "--noprofile", "--norc", "-eo", "pipefail", str(self.folder / "script")], step["run"], environment)


class GitLab(Runner):
    """The folder is /work in a root with BusyBox and no C library. Its wget asks a server for the release."""

    def __init__(self, root, api, served, address):
        super().__init__(root / "work", api, served)
        self.root, self.environment["PATH"] = root, "/bin"
        for name in ("bin", "dev", "tmp"):
            (root / name).mkdir()
        os.mknod(root / "dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        shutil.copy(shutil.which("busybox"), root / "bin")
        subprocess.run(["chroot", root, "/bin/busybox", "--install", "-s", "/bin"], check=True)
        self.address = address

    def run(self, page=False, **given):
        """Runs a job that extends the hidden one with these variables."""
        (self.folder / "api-key").write_text(f"{self.key}\n")
        account = {"BASE_URL": self.api.url, "KEY_FILE": "/work/api-key"}
        variables = JOB["variables"] | {f"TRANSLATION_EXPORTER_API__{name}": value for name, value in account.items()}
        variables |= {f"TRANSLATIONS_{name.upper()}": value.replace(str(self.root), "") for name, value in given.items()}
        variables |= {"TRANSLATIONS_PAGE": "public/index.html" if page else "", "TRANSLATIONS_FROM": self.address}
        command = [shutil.which("chroot"), str(self.root), "/bin/sh", "-c", "cd /work && exec sh -e script"]
        code, log = self.execute(command, "\n".join(JOB["script"]), variables | {"TMPDIR": "/work"})
        beside = self.folder / ("public" if page else "")
        markdown, languages, figures = self.folder / "translations.md", self.folder / "languages.json", beside / "translations.json"
        outputs = {"languages": languages.read_text().strip()} if languages.exists() else {}
        outputs |= {"json": str(figures)} if figures.exists() else {}
        outputs |= {"page": str(beside)} if page and (beside / "index.html").exists() else {}
        return Result(code, markdown.read_text() if markdown.exists() else "", log, outputs)


@pytest.fixture
def account(api):
    api.put((1, "acme/webshop", {"de": 40, "fr": 100}), DOCS, (3, EVIL, {"::add-mask::x": 1, 'q"\\': 2}))
    return api


@pytest.fixture
def github(account, program, tmp_path):
    executable(tmp_path / "program", f'#!/bin/sh\nexec "{program}" "$@"\n')
    return GitHub(tmp_path / "work", account, release(tmp_path / "release", tmp_path / "program"))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def gitlab(account, static, tmp_path):
    subprocess.run(["strip", "-o", tmp_path / "program", static], check=True)
    (tmp_path / "served").mkdir()
    served = release(tmp_path / "served" / VERSION, tmp_path / "program")
    handler = functools.partial(Quiet, directory=tmp_path / "served")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield GitLab(tmp_path / "root", account, served, f"http://127.0.0.1:{server.server_address[1]}")
        server.shutdown()


# The template needs the static program.
@pytest.fixture(params=["github", pytest.param("gitlab", marks=pytest.mark.slow)])
def gate(request):
    """The action, then the template."""
    return request.getfixturevalue(request.param)


def test_a_passed_gate_shows_what_was_chosen_and_no_key(gate):
    used = gate.run(repositories="acme/webshop", languages="fr")
    assert used.code == 0 and "page" not in used.outputs, used.log
    assert "acme/webshop" in used.markdown and "acme/docs" not in used.markdown, used.markdown
    assert FakeApi.KEY not in used.markdown + used.log


def test_a_language_below_its_target_fails_the_gate_and_shows_on_the_page(gate):
    used = gate.run(repositories="acme/*", require="0.95", page=True)
    assert (used.code, used.outputs["languages"]) == (3, '["fr"]'), used.log
    page = Path(used.outputs["page"], "index.html").read_text()
    assert "acme/docs" in used.markdown and "docs" in page and "webshop" in page
    assert json.loads(Path(used.outputs["page"], "badge.json").read_text())["message"] == "1 of 3 ready"
    assert [one["name"] for one in json.loads(Path(used.outputs["json"]).read_text())["repositories"]] == ["acme/docs", "acme/webshop"]


def test_changes_since_an_earlier_file_are_shown(gate, account):
    first = gate.run(repositories="acme/*", require="0.6")
    assert first.code == 3 and "since" not in first.markdown, first.log
    earlier = shutil.copy(first.outputs["json"], gate.folder / "earlier $(touch touched).json")
    account.put((1, "acme/webshop", {"de": 61, "fr": 100}))
    used = gate.run(repositories="acme/*", require="0.6", since=str(earlier))
    assert used.code == 0 and "1 became ready (de of acme/webshop 61% +21)" in used.markdown, used.log
    assert list(gate.folder.rglob("touched")) == []


def test_a_path_without_an_earlier_file_is_left_out_with_a_notice(gate):
    for path in ODD_PATHS:
        used = gate.run(repositories="acme/*", require="nothing", since=path)
        assert used.code == 0 and "There is no earlier file" in used.log, (path, used.log)
        assert "acme/docs" in used.markdown and "since" not in used.markdown, path
    assert list(gate.folder.rglob("touched")) == []


@pytest.mark.parametrize("text", ["", "{", '{"version": 1}', "::error::x"])
def test_a_file_that_is_no_earlier_output_is_refused(gate, text):
    (gate.folder / "earlier").write_text(text)
    used = gate.run(repositories="acme/*", require="nothing", since=str(gate.folder / "earlier"))
    assert (used.code, used.markdown) == (2, "") and "json" not in used.outputs and "--since" in used.log, used.log


def test_figures_without_one_repository_are_shown_and_pass_no_gate(gate, account):
    account.command("put", [{"id": 2, "name": "acme/docs", "answer": "no JSON"}])
    used = gate.run(repositories="acme/*", require="nothing", page=True)
    assert used.code == 0 and used.outputs["page"] and "acme/webshop" in used.markdown, used.log
    assert re.search("(?i)warning.*not everything that was asked for", used.log)
    assert gate.run(repositories="acme/*", require="0.3").code == 1


@pytest.mark.parametrize("require", ["targets", "nothing"])
def test_a_refused_key_fails_and_is_not_shown(gate, require):
    gate.key = "another"
    used = gate.run(require=require, page=True)
    assert used.code == 1 and "another" not in used.log, used.log
    assert used.outputs.get("ready", "unknown") == "unknown", used.outputs


def test_a_use_that_reads_nothing_shows_no_figures_of_an_earlier_one(gate):
    assert "acme/webshop" in gate.run(require="nothing").markdown
    used = gate.run(require="95")
    assert (used.code, used.markdown) == (2, "") and "json" not in used.outputs, used.log


def test_a_tampered_archive_is_not_unpacked(gate):
    (archive,) = gate.served.glob("*.tar.gz")
    archive.write_bytes(archive.read_bytes() + b"0")
    used = gate.run(fail="false")
    assert used.code == 1 and "FAILED" in used.log and not gate.unpacked(), used.log


def heeded(log):
    """The part of a log in which GitHub's runner looks for commands."""
    return re.sub(r"(?s)::stop-commands::(\S+)\n.*?\n::\1::\n", "", log)


@pytest.mark.parametrize(
    ("inputs", "code", "ready", "command"),
    [
        ({"require": "0.3"}, 0, "true", ""),
        ({"require": "0.95"}, 3, "false", "::error::A translation is below its target"),
        ({"require": "0.95", "fail": "false"}, 0, "false", "::warning::A translation is below its target"),
        ({"require": "nothing"}, 0, "false", ""),
        ({"require": "nothing", "languages": "fr"}, 0, "true", ""),
        ({"require": "nothing", "since": "none"}, 0, "false", "::notice::There is no earlier file"),
        ({"require": "95"}, 2, "unknown", "::error::The inputs of this step are wrong"),
        ({"repositories": "acme/none"}, 1, "unknown", "::error::Not everything that was asked for"),
    ],
)
def test_the_output_ready_and_a_command_to_the_runner_tell_the_outcome(github, inputs, code, ready, command):
    used = github.run(**{"repositories": "acme/*"} | inputs)
    assert (used.code, used.outputs["ready"]) == (code, ready), used.log
    assert command in heeded(used.log) if command else not re.search("::(error|warning)", heeded(used.log)), used.log
    assert code != 1 or used.outputs["languages"] == "[]"


def test_names_that_a_runner_or_a_browser_would_interpret_do_nothing(github):
    used = github.run(repositories="evil/*", require="0.95")
    assert "&lt;img src=x&gt;\\| @&#8203;octocat" in used.markdown and "<img" not in used.markdown, used.markdown
    assert "::add-mask::x" in used.log and "::add-mask::x" not in heeded(used.log), used.log
    used = github.run(repositories="evil/*", require="0.01")
    assert json.loads(used.outputs["languages"]) == ["::add-mask::x", 'q"\\']


def test_inputs_of_several_lines_may_be_those_of_windows(github):
    used = github.run(repositories="acme/docs\r\nacme/web*\r\n", languages="de\r\nfr\r\n", require="0.6", since="\r\n")
    assert (used.code, used.outputs["languages"]) == (3, '["fr"]') and "earlier file" not in used.log, used.log


def test_the_summary_holds_no_more_than_the_maximum(github, account):
    account.put(*((id, f"acme/{id}", {"de": 40}) for id in range(10, 100)))
    assert len(github.run(require="nothing").markdown) > 2000
    used = github.run(require="nothing", max_size="2000")
    assert used.code == 0 and "acme" in used.markdown and len(used.markdown.encode()) <= 2000, used


def test_the_action_verifies_who_built_the_archive(github):
    github.environment["ATTESTED"] = "echo 'no matching attestation' >&2; exit 1"
    used = github.run()
    assert (used.code, used.outputs) == (1, {}) and "no matching attestation" in used.log and not github.unpacked(), used.log
    calls = github.calls.read_text()
    for wanted in ("release download v", "attestation verify translation-exporter-", "--source-ref refs/tags/v", "/release.yaml"):
        assert wanted in calls, calls


def test_a_runner_without_gh_is_told_to_install_it(github):
    (github.bin / "gh").unlink()
    used = github.run(fail="false")
    assert used.code == 2 and "::error::This runner has no GitHub CLI (gh)" in used.log, used.log


def test_a_program_that_does_not_start_fails_the_step_in_any_case(github):
    executable(github.folder.parent / "program", "#!/nowhere\n")
    shutil.rmtree(github.served)
    release(github.served, github.folder.parent / "program")
    used = github.run(require="nothing", fail="false")
    assert used.code in (126, 127) and "::error::The program could not run" in used.log and used.outputs["ready"] == "unknown", used.log


def test_a_language_behind_tells_more_than_a_repository_that_cannot_be_read(github, account):
    account.command("put", [{"id": 2, "name": "acme/docs", "answer": "no JSON"}])
    used = github.run(repositories="acme/*", fail="false")
    assert (used.code, used.outputs["ready"]) == (0, "false"), used.log
    used = github.run(repositories="acme/*", languages="fr", fail="false")
    assert (used.code, used.outputs["ready"]) == (0, "unknown"), used.log


def test_the_action_takes_no_archive_of_another_version_and_none_for_another_system(github):
    used = github.run(version="v9.9.9")
    assert used.code != 0 and not github.unpacked(), used.log
    github.environment["RUNNER_OS"] = "Windows"
    used = github.run()
    assert used.code == 2 and "::error::There is no release" in used.log, used.log


@pytest.mark.slow
def test_the_template_takes_globs_separated_by_blanks_and_prints_the_figures(gitlab):
    used = gitlab.run(repositories="acme/docs acme/web*", require="nothing")
    assert "acme/docs" in used.markdown and "acme/webshop" in used.markdown and used.markdown in used.log, used.log


@pytest.mark.slow
def test_the_template_takes_a_checksum_in_place_of_that_beside_the_archive(gitlab):
    assert gitlab.run(sha256=64 * "0").code not in (0, 3) and not gitlab.unpacked()
    (gitlab.served / "SHA256SUMS").unlink()
    digest = hashlib.sha256(next(gitlab.served.glob("*.tar.gz")).read_bytes()).hexdigest()
    assert gitlab.run(require="nothing", sha256=digest).code == 0


@pytest.mark.slow
def test_the_template_compares_with_the_file_that_the_job_replaces(gitlab, account):
    gitlab.run(require="nothing")
    account.put((2, "acme/docs", {"de": 75}))
    used = gitlab.run(require="nothing", since="./translations.json")
    assert used.code == 0 and "+13" in used.markdown, used.log
