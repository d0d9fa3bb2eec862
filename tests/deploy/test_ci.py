"""The steps of the GitHub action and of GitLab's template, run where they will be: with bash, a few tools and a stub of `gh`, which
downloads a local archive, as on a runner of one's own; and in a root that holds BusyBox and the program, as the image on Alpine does."""

import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from harness import ROOT, FakeApi

ACTION = yaml.safe_load((ROOT / "deploy/ci/github/action.yml").read_text())
JOB = yaml.safe_load((ROOT / "deploy/ci/gitlab.yml").read_text())[".translations"]
RELEASE = yaml.safe_load((ROOT / ".github/workflows/release.yaml").read_text())["jobs"]["release"]

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
EVIL = "evil/<img src=x>| @octocat"


class Result(NamedTuple):
    code: int
    markdown: str
    log: str
    outputs: dict  # those of the action; of a job, the same names for the files that it leaves


def execute(command, script, folder, environment):
    (folder / "script").write_text(script)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class GitHub:
    """A folder to work in, the served release, and the key of the account."""

    def __init__(self, folder, api, served):
        self.folder, self.api, self.served, self.key = folder, api, served, FakeApi.KEY
        self.bin, self.calls = folder / "bin", folder / "calls"
        self.bin.mkdir(parents=True)
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        (self.bin / "gh").write_text(GH)
        (self.bin / "gh").chmod(0o755)
        self.environment = {
            "TRANSLATION_EXPORTER_API__REQUESTS_PER_SECOND": "0",
            "PATH": str(self.bin),
            "HOME": str(folder),
            "SERVED": str(served),
            "CALLS": str(self.calls),
            "ATTESTED": "true",
            "RUNNER_TEMP": str(folder),
            "RUNNER_OS": "Linux",
            "RUNNER_ARCH": {"x86_64": "X64", "aarch64": "ARM64"}[os.uname().machine],
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        }

    def run(self, page=False, **given):
        """Uses the action with these inputs."""
        given = {"base_url": self.api.url, "api_key": self.key, "pages": str(page)} | given
        inputs = {name: described.get("default", "") for name, described in ACTION["inputs"].items()}
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
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", self.folder / "script"]
        return execute(command, step["run"], self.folder, self.environment | environment)

    def unpacked(self):
        return list(self.folder.glob("*/translation-exporter"))


class GitLab:
    """The folder is /work in a root with BusyBox and no C library."""

    def __init__(self, root, api, static):
        self.root, self.folder, self.api, self.key = root, root / "work", api, FakeApi.KEY
        for name in ("bin", "dev", "work"):
            (root / name).mkdir(parents=True)
        os.mknod(root / "dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        shutil.copy(shutil.which("busybox"), root / "bin")
        subprocess.run(["chroot", root, "/bin/busybox", "--install", "-s", "/bin"], check=True)
        shutil.copy(static, root / "bin/translation-exporter")

    def run(self, page=False, repositories="", languages="", require="targets"):
        """Runs a job that extends the hidden one with these choices."""
        gate = {"nothing": "", "targets": JOB["variables"]["TRANSLATIONS"]}.get(require, f"--require {require}")
        (self.folder / "api-key").write_text(f"{self.key}\n")
        account = {"BASE_URL": self.api.url, "KEY_FILE": "/work/api-key", "REQUESTS_PER_SECOND": "0"}
        variables = {f"TRANSLATION_EXPORTER_API__{name}": value for name, value in account.items()} | {"PATH": "/bin"}
        variables["TRANSLATIONS"] = " ".join([repositories, *(f"--language {code}" for code in languages.split()), gate])
        command = [shutil.which("chroot"), self.root, "/bin/sh", "-c", "cd /work && exec sh -e script"]
        code, log = execute(command, "\n".join(JOB["script"]), self.folder, variables)
        files = {file.name: file for file in (self.folder / "public").iterdir()}
        outputs = {"languages": json.dumps(files["languages.txt"].read_text().split())} if "languages.txt" in files else {}
        outputs |= {"json": files["translations.json"]} if "translations.json" in files else {}
        outputs |= {"page": self.folder / "public"} if page and "index.html" in files else {}
        return Result(code, files["translations.md"].read_text() if "translations.md" in files else "", log, outputs)


@pytest.fixture
def account(api):
    api.put((1, "acme/webshop", {"de": 40, "fr": 100}), (2, "acme/docs", {"de": 62.5}), (3, EVIL, {"::add-mask::x": 1, 'q"\\': 2}))
    return api


@pytest.fixture(scope="session")
def packaged(program, tmp_path_factory):
    """The files of a release, made by the lines of its workflow. Its program runs the one that cargo built."""
    folder = tmp_path_factory.mktemp("release")
    (folder / "program").write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
    (folder / "dist/image").mkdir(parents=True)
    subprocess.run([ROOT / "deploy/release/package.sh", folder / "program", folder / "dist"], check=True)
    (sums,) = (step["run"] for step in RELEASE["steps"] if "sha256sum" in step.get("run", ""))
    subprocess.run(["bash", "-e", "-c", sums], cwd=folder, check=True, capture_output=True)
    return folder / "dist"


@pytest.fixture
def github(account, packaged, tmp_path):
    return GitHub(tmp_path / "work", account, shutil.copytree(packaged, tmp_path / "release"))


@pytest.fixture
def gitlab(account, static, tmp_path):
    return GitLab(tmp_path / "root", account, static)


# The template needs the static program.
@pytest.fixture(params=["github", pytest.param("gitlab", marks=pytest.mark.slow)])
def gate(request):
    """The action, then the template."""
    return request.getfixturevalue(request.param)


def test_a_passed_gate_shows_what_was_chosen_and_no_key(gate):
    used = gate.run(repositories="acme/webs*", languages="fr")
    assert used.code == 0 and "page" not in used.outputs, used.log
    assert "acme/webshop" in used.markdown and "acme/docs" not in used.markdown, used.markdown
    assert FakeApi.KEY not in used.markdown + used.log


def test_a_language_below_its_target_fails_the_gate_and_shows_on_the_page(gate):
    used = gate.run(repositories="acme/*", require="0.95", page=True)
    assert (used.code, used.outputs["languages"]) == (3, '["fr"]'), used.log
    page = Path(used.outputs["page"], "index.html").read_text()
    assert "acme/docs" in used.markdown and "docs" in page and "webshop" in page
    assert json.loads(Path(used.outputs["page"], "badge.json").read_text())["message"] == "1 of 3 ready"
    repositories = json.loads(Path(used.outputs["json"]).read_text())["repositories"]
    assert [repository["name"] for repository in repositories] == ["acme/docs", "acme/webshop"]


def test_figures_without_one_repository_are_shown_and_pass_no_gate(gate, account):
    account.command("put", [{"id": 2, "name": "acme/docs", "answer": "no JSON"}])
    used = gate.run(repositories="acme/*", require="nothing", page=True)
    assert used.code == 0 and used.outputs["page"] and "acme/webshop" in used.markdown, used.log
    used = gate.run(repositories="acme/*", require="0.3")
    assert (used.code, used.outputs["languages"]) == (1, "[]"), used.log


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
        ({"repositories": "acme/none"}, 1, "unknown", "::error::Not everything that was asked for"),
    ],
)
def test_the_output_ready_and_a_command_to_the_runner_tell_the_outcome(github, inputs, code, ready, command):
    used = github.run(**{"repositories": "acme/*"} | inputs)
    assert (used.code, used.outputs["ready"]) == (code, ready), used.log
    assert command in heeded(used.log) if command else not re.search("::(error|warning)", heeded(used.log)), used.log


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"require": "95"}, 'is "95"; give a number from 0 to 1, such as 0.95'),
        ({"require": "0,95"}, 'is "0,95"; give a number from 0 to 1, such as 0.95'),
        ({"max_size": "64k"}, 'is "64k"; give a whole number from 2000 to 1000000000'),
        ({"config_file": "none.yaml"}, "none.yaml cannot be read"),
        ({"fail": "no"}, "input fail is no; give true or false"),
        ({"pages": "1\n::error::x"}, "input pages is $'1\\n::error::x'; give true or false"),
    ],
)
def test_a_value_of_an_input_that_is_out_of_range_is_told_with_the_range(github, inputs, words):
    used = github.run(**inputs)
    assert (used.code, used.outputs["ready"], used.markdown) == (2, "unknown", "") and words in used.log, used.log
    assert re.findall("::error::.*", heeded(used.log)) == ["::error::The inputs of this step are wrong: see its log."], used.log


def test_a_language_behind_tells_more_than_a_repository_that_cannot_be_read(github, account):
    account.command("put", [{"id": 2, "name": "acme/docs", "answer": "no JSON"}])
    for languages, ready in (("", "false"), ("fr", "unknown")):
        used = github.run(repositories="acme/*", languages=languages, fail="false")
        assert (used.code, used.outputs["ready"]) == (0, ready) and "::warning::Not everything" in heeded(used.log), used.log


def test_names_that_a_runner_or_a_browser_would_interpret_do_nothing(github):
    used = github.run(repositories="evil/*", require="0.95")
    assert "&lt;img src=x&gt;\\| @&#8203;octocat" in used.markdown and "<img" not in used.markdown, used.markdown
    assert "add-mask::x" in used.log and "::add-mask::x" not in used.log, used.log
    used = github.run(repositories="evil/*", require="0.01")
    assert json.loads(used.outputs["languages"]) == ["::add-mask::x", 'q"\\']


def test_inputs_of_several_lines_may_be_those_of_windows(github):
    used = github.run(repositories="acme/docs\r\nacme/web*\r\n", languages="de\r\nfr\r\n", require="0.6")
    assert (used.code, used.outputs["languages"]) == (3, '["fr"]'), used.log


def test_the_summary_holds_no_more_than_the_maximum(github, account):
    account.put(*((id, f"acme/{id}", {"de": 40}) for id in range(10, 100)))
    used = github.run(require="nothing", max_size="2000")
    assert used.code == 0 and "acme" in used.markdown and len(used.markdown.encode()) <= 2000, used


def test_the_action_verifies_the_archive_and_who_built_it_before_it_unpacks(github):
    github.environment["ATTESTED"] = "echo 'no matching attestation' >&2; exit 1"
    used = github.run()
    assert (used.code, used.outputs) == (1, {}) and "no matching attestation" in used.log and not github.unpacked(), used.log
    calls = github.calls.read_text()
    for wanted in ("release download v", "attestation verify translation-exporter-", "--source-ref refs/tags/v", "/release.yaml"):
        assert wanted in calls, calls
    assert github.run(version="v9.9.9").code != 0 and not github.unpacked(), "an archive of another version"
    (archive,) = github.served.glob("*.tar.gz")
    archive.write_bytes(archive.read_bytes() + b"0")
    used = github.run(fail="false")
    assert used.code == 1 and "FAILED" in used.log and not github.unpacked(), used.log


def test_a_runner_that_cannot_run_the_program_is_told_why(github):
    (github.bin / "gh").rename(github.bin / "other")
    used = github.run(fail="false")
    assert used.code == 2 and "::error::This runner has no GitHub CLI (gh)" in used.log, used.log
    (github.bin / "other").rename(github.bin / "gh")
    github.environment["RUNNER_OS"] = "Windows"
    used = github.run()
    assert used.code == 2 and "::error::There is no release" in used.log, used.log
