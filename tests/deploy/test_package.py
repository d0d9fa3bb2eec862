"""The archive and the Debian package, made as a release makes them of an unoptimised program, in roots where nothing else is installed."""

import os
import re
import shutil
import subprocess
import tarfile

import pytest
from harness import ROOT, TARGET

pytestmark = pytest.mark.slow

UNIT = "translation-exporter.service"


@pytest.fixture(scope="session")
def packages(program, tmp_path_factory):
    tools, folder = TARGET / "tools/cargo", tmp_path_factory.mktemp("packages")
    for tool, *options in (["cargo-deb@3.8.0"], ["cargo-about@0.9.3", "--features=cli"]):
        if not (tools / "bin" / tool.partition("@")[0]).exists():
            install = ["cargo", "install", "--quiet", "--locked", "--root", tools]
            subprocess.run([*install, tool, *options], check=True)
    (TARGET / "release").mkdir(exist_ok=True)
    subprocess.run(["strip", "-o", TARGET / "release/translation-exporter", program], check=True)
    path = f"{tools}/bin:{os.environ['PATH']}"
    subprocess.run([ROOT / "deploy/release/package.sh", folder, "--fast"], env=os.environ | {"PATH": path}, check=True)
    return folder


def test_the_archive_holds_program_units_manuals_completions_and_licences(packages):
    (archive,) = packages.glob("*.tar.gz")
    with tarfile.open(archive) as content:
        names = {name.partition("/")[2] for name in content.getnames()}
        folder = content.getnames()[0].partition("/")[0]
        licences = content.extractfile(f"{folder}/third-party-licenses.txt").read().decode()
    assert {"translation-exporter", "LICENSE", f"systemd/{UNIT}", "systemd/config.yaml", "man/translation-exporter-once.1"} <= names
    assert {f"completions/{name}" for name in ("_translation-exporter", "translation-exporter.bash", "translation-exporter.fish")} <= names
    for crate in ("tokio", "rustls", "ring", "axum", "prometheus-client"):
        assert re.search(rf"\b{crate} \d", licences), f"no licence of {crate}"


def test_the_program_needs_no_newer_c_library_than_debian_12_has(packages):
    said = subprocess.run(
        ["readelf", "--version-info", TARGET / "release/translation-exporter"], check=True, capture_output=True, text=True
    )
    versions = {tuple(map(int, one.split("."))) for one in re.findall(r"GLIBC_([\d.]+)", said.stdout)}
    assert (2, 17) < max(versions) <= (2, 36)


def test_lintian_finds_nothing(packages):
    (package,) = packages.glob("*.deb")
    # It is not for Debian's own archive.
    options = ["--allow-root", "--fail-on=error,warning", "--suppress-tags=initial-upload-closes-no-bugs"]
    subprocess.run(["lintian", *options, package], check=True)


class System:
    """A root of a Debian, in which commands run."""

    def __init__(self, root):
        self.root = root

    def __truediv__(self, path):
        return self.root / path

    def run(self, *command, check=True):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "SYSTEMD_OFFLINE": "1"}
        return subprocess.run(["chroot", self.root, *command], env=environment, check=check, capture_output=True, text=True)


@pytest.fixture(params=["bookworm", "trixie"])
def system(request, packages, tmp_path):
    made = TARGET / f"tools/debian-{request.param}"
    if not made.exists():
        include = "systemd,ca-certificates,procps,libnss-resolve,libnss-myhostname"
        command = ["mmdebstrap", "--quiet", "--variant=essential", f"--include={include}", request.param, made.with_suffix(".new")]
        subprocess.run(command, check=True)
        made.with_suffix(".new").rename(made)
    subprocess.run(["cp", "-a", made, tmp_path / "root"], check=True)
    shutil.copy(next(packages.glob("*.deb")), tmp_path / "root/package.deb")
    yield System(tmp_path / "root")
    shutil.rmtree(tmp_path / "root")


def test_the_package_is_installed_upgraded_removed_and_purged(system):
    # The scripts believe that systemd runs; what they ask of it is recorded.
    (system / "run/systemd/system").mkdir(parents=True)
    (system / "usr/bin/systemctl").rename(system / "usr/bin/systemctl.real")
    (system / "usr/bin/systemctl").write_text('#!/bin/sh\necho "$@" >>/asked\n')
    (system / "usr/bin/systemctl").chmod(0o755)
    config, key = system / "etc/translation-exporter/config.yaml", system / "etc/translation-exporter/api-key"
    state = system / "var/lib/private/translation-exporter/state.json"

    def asked():
        text = (system / "asked").read_text() if (system / "asked").exists() else ""
        (system / "asked").unlink(missing_ok=True)
        return set(re.findall(rf"(start|stop|restart|try-restart|enable) .*{UNIT}", text))

    system.run("dpkg", "--install", "/package.deb")
    assert asked() == set()
    assert (system / "usr/share/man/man1/translation-exporter.1.gz").exists()
    # With the configuration unchanged, the program says what is missing.
    key.write_text("a-key")
    check = ["translation-exporter", "check-config", "--config.file=/etc/translation-exporter/config.yaml"]
    check += ["--api.key-file=/etc/translation-exporter/api-key"]
    assert "api.base_url" in system.run(*check, check=False).stderr
    config.write_text(config.read_text().replace("# base_url:", "base_url:") + "# an edit\n")
    system.run(*check)
    # This systemd accepts the unit, and rates it as well confined; the threshold is in tenths.
    said = system.run("systemd-analyze", "verify", "--recursive-errors=yes", UNIT)
    assert said.stdout + said.stderr == ""
    system.run("systemd-analyze", "security", "--offline=true", "--threshold=14", "--no-pager", UNIT)

    system.run("systemctl.real", "enable", UNIT)
    state.parent.mkdir(parents=True)
    state.write_text("state")
    system.run("dpkg", "--install", "/package.deb")
    # It starts nothing that was not running.
    assert asked() == {"try-restart"}
    system.run("dpkg", "--remove", "translation-exporter")
    assert asked() == {"stop"} and not (system / "usr/bin/translation-exporter").exists()
    assert config.exists() and key.exists() and state.exists()
    system.run("dpkg", "--install", "/package.deb")
    assert "# an edit" in config.read_text()
    assert system.run("systemctl.real", "is-enabled", UNIT).stdout.strip() == "enabled"
    system.run("dpkg", "--purge", "translation-exporter")
    assert list(system.root.rglob("*translation-exporter*")) == []


def test_names_resolve_by_the_modules_of_the_system(system):
    """A static program would load these modules of another C library, and could crash."""
    system.run("dpkg", "--install", "/package.deb")
    (system / "key").write_text("a-key")
    assert "myhostname resolve" in (system / "etc/nsswitch.conf").read_text()
    said = system.run("translation-exporter", "once", "--api.base-url=http://name.localhost:9", "--api.key-file=/key", check=False)
    assert said.returncode == 1 and "Connection refused" in said.stderr
