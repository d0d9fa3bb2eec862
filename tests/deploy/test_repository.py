"""The repository itself: workflows, the Dockerfile and the crate."""

import os
import re
import shutil
import subprocess

import pytest
import yaml
from harness import ROOT

GITHUB = ROOT / ".github"


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", sorted(GITHUB.glob("workflows/*.yaml"))),
        ("github-actions", [ROOT / "deploy/ci/github/action.yml"]),
        ("dependabot", [GITHUB / "dependabot.yml"]),
        ("gitlab-ci", sorted((ROOT / "deploy/ci").glob("*.yml"))),
    ],
)
def test_files_of_ci_fit_their_schemas(schema, files):
    transform = ["--data-transform", "gitlab-ci"] if schema == "gitlab-ci" else []
    subprocess.run(["check-jsonschema", "--builtin-schema", f"vendor.{schema}", *transform, *files], check=True)


def test_zizmor_finds_nothing(tmp_path):
    # The example names our own action by a tag, as only whoever uses it knows the commit that they have reviewed.
    example = tmp_path / ".github/workflows/example.yaml"
    example.parent.mkdir(parents=True)
    text = (ROOT / "deploy/ci/github/example.yaml").read_text()
    example.write_text(re.sub(r"(deploy/ci/github)@v\S+", rf"\1@{'0' * 40}", text))
    subprocess.run(["zizmor", "--offline", "--quiet", GITHUB, ROOT / "deploy/ci/github", tmp_path], check=True)


def test_hadolint_finds_nothing():
    subprocess.run(["hadolint", ROOT / "deploy/container/Dockerfile"], check=True)


def test_jobs_that_publish_wait_for_the_one_approval():
    jobs = yaml.safe_load((GITHUB / "workflows/release.yaml").read_text())["jobs"]
    assert [name for name, job in jobs.items() if "environment" in job] == ["approve"]
    publishing = {
        name for name, job in jobs.items() if {"packages", "contents"} & {key for key, to in job["permissions"].items() if to == "write"}
    }
    publishing |= {name for name, job in jobs.items() if "cargo publish" in str(job)}
    assert publishing == {"image", "chart", "crate", "release"}
    assert all("approve" in jobs[name]["needs"] for name in publishing)


def test_a_new_version_leaves_the_old_one_nowhere_and_its_changes_are_the_notes(tmp_path):
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    files = [file for file in files if (ROOT / file).exists()]
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)

    def run(*command, **variables):
        variables["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
        return subprocess.run(command, cwd=tmp_path, env=variables, check=True, capture_output=True, text=True).stdout

    old, new = run("deploy/release/version.sh").strip(), "9.8.7-rc.1"
    assert [file for file in files if (tmp_path / file).read_bytes() != (ROOT / file).read_bytes()] == [], "run version.sh"
    assert run("deploy/release/version.sh", new) == f"{new}\n"
    named = [file for file in files if old.encode() in (tmp_path / file).read_bytes()]
    assert {file for file in named if not file.endswith(("lock", "lock.json", "CHANGELOG.md"))} == set()

    steps = yaml.safe_load((GITHUB / "workflows/release.yaml").read_text())["jobs"]["release"]["steps"]
    (publish,) = (step["run"] for step in steps if "gh release" in step.get("run", ""))
    (tmp_path / "gh").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "gh").chmod(0o755)
    assert "--prerelease" in run("bash", "-e", "-c", publish, VERSION=new, GITHUB_REF_NAME=f"v{new}")
    changelog = (tmp_path / "CHANGELOG.md").read_text()
    assert re.search(rf"\n## \[Unreleased\]\n\n## \[{re.escape(new)}\] - 20\d\d-\d\d-\d\d\n", changelog)
    assert (tmp_path / "notes.md").read_text().strip() in (ROOT / "CHANGELOG.md").read_text()


def test_the_crate_holds_the_program_alone():
    done = subprocess.run(["cargo", "package", "--list", "--allow-dirty", "--quiet"], cwd=ROOT, check=True, capture_output=True, text=True)
    known = r"src/.*|Cargo\.(lock|toml|toml\.orig)|LICENSE|README\.md|\.cargo_vcs_info\.json"
    assert [file for file in done.stdout.split() if not re.fullmatch(known, file)] == []
