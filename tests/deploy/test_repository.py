"""The repository itself: workflows, the Dockerfile and the crate."""

import re
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


def test_the_crate_holds_the_program_alone():
    done = subprocess.run(["cargo", "package", "--list", "--allow-dirty", "--quiet"], cwd=ROOT, check=True, capture_output=True, text=True)
    known = r"src/.*|Cargo\.(lock|toml|toml\.orig)|LICENSE|README\.md|\.cargo_vcs_info\.json"
    assert [file for file in done.stdout.split() if not re.fullmatch(known, file)] == []
