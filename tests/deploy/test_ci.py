"""The steps of the GitHub action and of GitLab's template, run as a runner would: with a stub of `gh`, which downloads a local archive,
and one of `wget`."""

import hashlib
import json
import platform
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml
from harness import ROOT, FakeApi

ACTION, TEMPLATE = ROOT / "deploy/ci/github/action.yml", ROOT / "deploy/ci/gitlab.yml"
VERSION = yaml.safe_load(ACTION.read_text())["inputs"]["version"]["default"]

# Each stub takes what it serves from $SERVED, and records how it was called in $CALLS.
GH = """#!/bin/sh
echo "$*" >>"$CALLS"
case $1 in
release) cp "$SERVED"/* . ;;
attestation) [ -e "$3" ] && exec sh -c "$ATTESTED" ;;
esac
"""
WGET = """#!/bin/sh
echo "$*" >>"$CALLS"
exec cp "$SERVED/${4##*/}" "$3"
"""
READY = "Ready to ship: 3 of 3 ready"
DOCS = (2, "acme/docs", {"de": 62.5})
EVIL = "evil/<img src=x>| @octocat"
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


@pytest.fixture(scope="session")
def served(program, tmp_path_factory):
    """The archive and the checksums of a release, as package.sh and the release workflow make them."""
    folder, version = tmp_path_factory.mktemp("release"), VERSION.removeprefix("v")
    name = f"translation-exporter-{version}.linux-{ARCH}"
    # Each use unpacks it.
    subprocess.run(["strip", "-o", folder.parent / "stripped", program], check=True)
    with tarfile.open(folder / f"{name}.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(folder.parent / "stripped", f"{name}/translation-exporter")
    digest = hashlib.sha256((folder / f"{name}.tar.gz").read_bytes()).hexdigest()
    others = f"{64 * '0'}  translation-exporter_{version}-1_{ARCH}.deb\n"
    (folder / "SHA256SUMS").write_text(f"{others}{digest}  {name}.tar.gz\n")
    return folder


class Runner:
    """What both have: a folder of its own, stubs on the PATH, and what was served and called."""

    def __init__(self, folder, served, stubs):
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "bin").mkdir(parents=True)
        for name, text in stubs.items():
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        self.folder, self.calls = folder, folder / "calls"
        self.environment = {
            "PATH": f"{folder}/bin:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "SERVED": str(served),
            "CALLS": str(self.calls),
            "ATTESTED": "true",
            "TRANSLATION_EXPORTER_API__REQUESTS_PER_SECOND": "0",
        }

    def run(self, command, script, environment):
        (self.folder / "script").write_text(script)
        done = subprocess.run(
            [*command, str(self.folder / "script")], cwd=self.folder, env=self.environment | environment, capture_output=True, text=True
        )
        return done.returncode, done.stdout + done.stderr


class GitHub(Runner):
    def __init__(self, folder, served):
        super().__init__(folder, served, {"gh": GH})
        self.action = yaml.safe_load(ACTION.read_text())
        self.files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for file in self.files.values():
            file.touch()
        self.environment |= {name: str(file) for name, file in self.files.items()}
        self.environment |= {"RUNNER_TEMP": str(folder), "RUNNER_OS": "Linux", "RUNNER_ARCH": {"amd64": "X64", "arm64": "ARM64"}[ARCH]}

    def step(self, step, given):
        """One step of a shell, with its expressions put in."""
        inputs = {name: one.get("default", "") for name, one in self.action["inputs"].items()} | given
        values = {f"inputs.{name}": value for name, value in inputs.items()} | {"github.token": "a-token"}
        environment = {name: re.sub(r"\$\{\{ *(\S+) *\}\}", lambda found: values[found[1]], text) for name, text in step["env"].items()}
        assert step["shell"] == "bash" and "${{" not in step["run"], step
        return self.run(["bash", "--noprofile", "--norc", "-eo", "pipefail"], step["run"], environment)

    def use(self, **given):
        """The exit code, the summary, the outputs and the log of an action that was given these inputs."""
        given = {name.replace("_", "-"): value for name, value in given.items()}
        log, code = "", 0
        for step in self.action["runs"]["steps"]:
            if "run" in step and code == 0:
                code, said = self.step(step, given)
                log += said
        outputs = dict(line.split("=", 1) for line in self.files["GITHUB_OUTPUT"].read_text().splitlines())
        return code, self.files["GITHUB_STEP_SUMMARY"].read_text(), outputs, log


class GitLab(Runner):
    def __init__(self, folder, served):
        super().__init__(folder, served, {"wget": WGET})
        self.job = yaml.safe_load(TEMPLATE.read_text())[".translations"]

    def extend(self, **variables):
        """The exit code, the Markdown and the log of a job that extends the hidden one with these variables."""
        code, log = self.run(["sh", "-e"], "\n".join(self.job["script"]), self.job["variables"] | variables)
        markdown = self.folder / "translations.md"
        return code, markdown.read_text() if markdown.exists() else None, log


def heeded(log):
    """The part of a log in which GitHub's runner looks for commands."""
    return re.sub(r"(?s)::stop-commands::(\S+)\n.*?\n::\1::\n", "", log)


def expect(what, actual, expected):
    assert actual == expected, what


@pytest.fixture
def account(api):
    api.put((1, "acme/webshop", {"de": 40, "fr": 100}), DOCS, (3, EVIL, {"::add-mask::x": 1, 'q"\\': 2}))
    return api


def expect_ready_page(path):
    """The page calls all translations ready, as the gate does."""
    page = path.read_text()
    assert READY in page, page[:3000]


def test_the_action_gates_shows_and_verifies(account, served, tmp_path):
    api, folder = account, tmp_path / "work"
    account = {"base_url": api.url, "api_key": FakeApi.KEY}

    def use(**given):
        return GitHub(folder, served).use(**account | given)

    def uploaded(outputs):
        """Whether the last step would run: its condition names this output."""
        *_, last = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
        assert "steps.read.outputs.page != ''" in last["if"] and last["with"]["path"] == "${{ steps.read.outputs.page }}", last
        return outputs.get("page")

    code, summary, outputs, log = use(repositories="acme/webshop\n", languages="fr\n")
    expect(f"a gate that passes: {log}", (code, outputs["ready"]), (0, "true"))
    assert "acme/webshop" in summary and "acme/docs" not in summary, summary
    assert FakeApi.KEY not in summary + log, "the key was shown"
    expect("the upload", uploaded(outputs), None)
    calls = (folder / "calls").read_text()
    for wanted in ("release download v", "attestation verify translation-exporter-", "--source-ref refs/tags/v", "/release.yaml"):
        assert wanted in calls, calls

    code, summary, outputs, log = use(repositories="evil/*", require="0.95")
    expect(f"names that a runner or a browser would interpret: {log}", (code, outputs["ready"]), (3, "false"))
    assert "&lt;img src=x&gt;\\| @&#8203;octocat" in summary and "<img" not in summary, summary
    assert "::add-mask::x" in log and "::add-mask::x" not in heeded(log), log
    assert "::error::A translation is below its target" in heeded(log), log

    code, summary, outputs, log = use(repositories="acme/*", require="0.95")
    expect(f"a language below the target: {log}", (code, outputs["ready"]), (3, "false"))
    assert "acme/docs" in summary and "::error::A translation is below its target" in log and "de" in log, log
    code, _, outputs, log = use(repositories="acme/*", require="nothing", pages="true")
    expect(f"without a gate: {log}", (code, outputs["ready"]), (0, "unknown"))
    page = Path(uploaded(outputs))
    assert "acme/" in (page / "index.html").read_text(), (page / "index.html").read_text()[:500]
    assert json.loads((page / "translations.json").read_text())["version"] == 1
    assert json.loads((page / "badge.json").read_text())["message"] == "1 of 3 ready"
    code, _, outputs, log = use(repositories="acme/*\r\n", languages="de\r\nfr\r\n", require="0.6")
    expect(f"lines of Windows: {log}", (code, outputs["ready"], json.loads(outputs["languages"])), (3, "false", ["fr"]))
    code, _, outputs, log = use(repositories="acme/*", require="0.6", fail="false")
    expect(f"a gate that must not fail: {log}", (code, outputs["ready"]), (0, "false"))
    assert "::warning::A translation is below" in heeded(log), log
    compared(use, folder, api)
    code, _, outputs, log = use(repositories="evil/*", require="0.01")
    expect(f"hostile codes: {log}", (code, json.loads(outputs["languages"])), (0, ["::add-mask::x", 'q"\\']))
    code, _, outputs, log = use(repositories="acme/*", require="0.3", pages="true")
    expect_ready_page(Path(uploaded(outputs)) / "index.html")
    expect(f"a lower target: {log}", (code, outputs["ready"]), (0, "true"))
    code, _, outputs, log = use(repositories="acme/none")
    expect(f"no such repository: {log}", (code, outputs["ready"], outputs["languages"]), (1, "unknown", "[]"))
    assert "::error::Not everything that was asked for" in heeded(log), log
    code, _, outputs, log = use(api_key="another", pages="true")
    expect(f"a wrong key: {log}", (code, outputs["ready"]), (1, "unknown"))
    assert "another" not in log, log
    code, _, outputs, log = use(require="95")
    expect(f"a ratio that is none: {log}", (code, outputs["ready"]), (2, "unknown"))
    assert "::error::The inputs of this step are wrong" in heeded(log), log

    api.command("put", [{"id": 2, "name": "acme/docs", "answer": "no JSON"}])
    code, summary, outputs, log = use(repositories="acme/*", require="nothing", pages="true")
    expect(f"figures without one repository: {log}", (code, outputs["ready"]), (0, "unknown"))
    assert "acme/webshop" in summary and uploaded(outputs) and "::warning::Not everything that was asked for" in heeded(log), log
    code, _, outputs, log = use(repositories="acme/*", require="0.3")
    expect(f"a gate without one repository: {log}", (code, outputs["ready"]), (1, "unknown"))
    api.put(DOCS)
    code, _, outputs, log = use(api_key="another", require="nothing", pages="true")
    expect(f"no figures at all: {log}", (code, outputs["ready"]), (1, "unknown"))
    twice = GitHub(folder, served)
    twice.use(**account, repositories="acme/webshop", require="nothing")
    code, summary, _, log = twice.use(**account, require="95")
    expect(f"a second use in a job, which reads nothing: {log}", (code, summary.count("acme/webshop")), (2, 1))

    code, _, outputs, _ = GitHub(folder, served).use(**account, version="v9.9.9")
    assert code != 0 and not outputs, "another version's archive"
    refused = GitHub(folder, served)
    refused.environment["ATTESTED"] = "echo 'no matching attestation' >&2; exit 1"
    code, _, outputs, log = refused.use(**account)
    assert (
        code == 1
        and not outputs
        and "no matching attestation" in log
        and not (folder / "translation-exporter/translation-exporter").exists()
    ), log
    elsewhere = GitHub(folder, served)
    elsewhere.environment["RUNNER_OS"] = "Windows"
    code, _, _, log = elsewhere.use(**account)
    assert code == 2 and "::error::There is no release" in log, log


# Paths that a shell or the program could take for something else; none of them exists.
ODD_PATHS = ("--help", "-", "(", "a b", "$(touch touched)", "`touch touched`", "; touch touched", "*", "\r\n")


def compared(use, folder, api):
    """The input `since`: what changed, no earlier file, hostile paths, and files that are no output of ours."""

    def earlier(path):
        """An earlier output as a file outside the folder, which each use of the action makes anew."""
        return str(shutil.copy(path, folder.parent / "earlier $(touch touched).json"))

    _, summary, outputs, log = use(repositories="acme/*", require="0.6")
    assert "since" not in summary, summary
    since = earlier(outputs["json"])
    api.put((1, "acme/webshop", {"de": 61, "fr": 90}), (2, "acme/docs", {"de": 75}))
    code, summary, outputs, log = use(repositories="acme/*", require="0.95", since=f"{since}\r\n", fail="false")
    expect(f"a comparison: {log}", (code, outputs["ready"]), (0, "false"))
    assert "+12.5" in summary and "+21" in summary and "-10" in summary, summary
    code, summary, outputs, log = use(repositories="acme/*", require="0.6", since=since)
    expect(f"one that became ready: {log}", (code, outputs["ready"]), (0, "true"))
    assert "de +21 of acme/webshop became ready" in summary and Path(outputs["json"]).exists(), summary
    code, summary, _, log = use(repositories="acme/*", require="nothing", since=since, max_size="2000")
    assert code == 0 and len(summary.encode()) <= 2000 and "acme" in summary, (log, summary)
    api.put((1, "acme/webshop", {"de": 40, "fr": 100}), DOCS)
    for path in ODD_PATHS:
        code, summary, outputs, log = use(repositories="acme/*", require="nothing", since=path)
        expect(f"since {path!r}: {log}", (code, outputs["ready"]), (0, "unknown"))
        assert "acme/docs" in summary and "since" not in summary, summary
        assert ("::notice::There is no earlier file" in heeded(log)) == bool(path.strip()), log
    for text in ("", "{", '{"version": 1}', "::error::x"):
        Path(since).write_text(text)
        code, _, outputs, log = use(repositories="acme/*", require="nothing", since=since)
        expect(f"a file with {text!r}: {log}", (code, outputs["ready"]), (2, "unknown"))
        assert "--since" in log and "json" not in outputs and "::error::The inputs of this step are wrong" in heeded(log), log
    expect("files that a path made", list(folder.parent.rglob("touched")), [])


def test_the_template_gates_shows_and_verifies(account, served, tmp_path):
    api, folder = account, tmp_path / "work"
    digest = hashlib.sha256(next(served.glob("*.tar.gz")).read_bytes()).hexdigest()
    (folder.parent / "key").write_text(f"{FakeApi.KEY}\n")
    account = {"TRANSLATION_EXPORTER_API__BASE_URL": api.url, "TRANSLATION_EXPORTER_API__KEY_FILE": str(folder.parent / "key")}

    def extend(**variables):
        return GitLab(folder, served).extend(**account, **variables)

    code, markdown, log = extend(TRANSLATIONS_REPOSITORIES="acme/webshop", TRANSLATIONS_LANGUAGES="fr", TRANSLATIONS_SHA256=digest)
    expect(f"a gate that passes: {log}", code, 0)
    assert "acme/webshop" in markdown and "acme/docs" not in markdown and markdown in log, markdown
    code, markdown, log = extend(
        TRANSLATIONS_REPOSITORIES="acme/docs acme/web*", TRANSLATIONS_REQUIRE="0.95", TRANSLATIONS_PAGE="public/index.html"
    )
    expect(f"a language below the target: {log}", code, 3)
    assert "acme/docs" in markdown, markdown
    page = (folder / "public/index.html").read_text()
    assert "webshop" in page and "docs" in page, page
    assert json.loads((folder / "languages.json").read_text()) == ["fr"]
    assert json.loads((folder / "public/badge.json").read_text())["message"] == "1 of 3 ready"
    assert len(json.loads((folder / "public/translations.json").read_text())["repositories"]) == 2
    code, _, log = extend(TRANSLATIONS_REQUIRE="nothing")
    expect(f"without a gate: {log}", code, 0)
    since = shutil.copy(folder / "translations.json", folder.parent / "an earlier one.json")
    api.put((2, "acme/docs", {"de": 75}))
    code, markdown, log = extend(TRANSLATIONS_REPOSITORIES="acme/*", TRANSLATIONS_REQUIRE="nothing", TRANSLATIONS_SINCE=str(since))
    expect(f"a comparison: {log}", code, 0)
    assert "+12.5" in markdown, markdown
    again = GitLab(folder, served)
    shutil.copy(since, folder / "translations.json")
    code, markdown, log = again.extend(**account, TRANSLATIONS_REQUIRE="nothing", TRANSLATIONS_SINCE="./translations.json")
    expect(f"a comparison with the file that the job replaces: {log}", code, 0)
    assert "+12.5" in markdown, (markdown, log)
    api.put(DOCS)
    for path in ODD_PATHS:
        code, markdown, log = extend(TRANSLATIONS_REPOSITORIES="acme/*", TRANSLATIONS_REQUIRE="nothing", TRANSLATIONS_SINCE=path)
        expect(f"since {path!r}: {log}", code, 0)
        assert "There is no earlier file" in log and "acme/docs" in markdown, (log, markdown)
    since.write_text("{")
    code, markdown, log = extend(TRANSLATIONS_REQUIRE="nothing", TRANSLATIONS_SINCE=str(since))
    expect(f"a damaged file: {log}", (code, markdown), (2, None))
    expect("files that a path made", list(folder.parent.rglob("touched")), [])
    code, _, log = extend(TRANSLATIONS_REPOSITORIES="acme/*", TRANSLATIONS_REQUIRE="0.3", TRANSLATIONS_PAGE="public/index.html")
    expect(f"a lower target: {log}", code, 0)
    expect_ready_page(folder / "public/index.html")
    api.command("put", [{"id": 2, "name": "acme/docs", "answer": "no JSON"}])
    code, markdown, log = extend(TRANSLATIONS_REPOSITORIES="acme/*", TRANSLATIONS_REQUIRE="nothing", TRANSLATIONS_PAGE="public/index.html")
    expect(f"figures without one repository: {log}", code, 0)
    assert "acme/webshop" in markdown and "not everything that was asked for" in log and (folder / "public/index.html").exists(), log
    code, _, log = extend(TRANSLATIONS_REPOSITORIES="acme/*", TRANSLATIONS_REQUIRE="0.3")
    expect(f"a gate without one repository: {log}", code, 1)
    api.put(DOCS)
    (folder.parent / "another-key").write_text("another\n")
    refused = account | {"TRANSLATION_EXPORTER_API__KEY_FILE": str(folder.parent / "another-key")}
    code, _, log = GitLab(folder, served).extend(**refused, TRANSLATIONS_REQUIRE="nothing")
    expect(f"no figures at all: {log}", code, 1)
    used = GitLab(folder, served)
    (folder / "translations.md").write_text("| the figures of yesterday |")
    code, markdown, log = used.extend(**account, TRANSLATIONS_REQUIRE="95")
    expect(f"a workspace with files of an earlier job: {log}", (code, markdown), (2, None))
    code, markdown, log = extend(TRANSLATIONS_SHA256=64 * "0")
    assert code not in (0, 3) and markdown is None and not list(folder.glob("*/translation-exporter")), log


def test_both_name_one_version_and_refuse_a_tampered_archive(account, served, tmp_path):
    assert yaml.safe_load(TEMPLATE.read_text())[".translations"]["variables"]["TRANSLATIONS_VERSION"] == VERSION
    tampered = shutil.copytree(served, tmp_path / "tampered")
    archive = next(tampered.glob("*.tar.gz"))
    archive.write_bytes(archive.read_bytes() + b"0")
    code, *_ = GitHub(tmp_path / "github", tampered).use(base_url=account.url, api_key=FakeApi.KEY)
    assert code == 1 and not list((tmp_path / "github").glob("*/translation-exporter"))
    code, *_ = GitLab(tmp_path / "gitlab", tampered).extend(TRANSLATIONS_REQUIRE="nothing")
    assert code == 1 and not list((tmp_path / "gitlab").glob("*/translation-exporter"))
