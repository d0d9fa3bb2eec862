"""The image, built by both stages of the Dockerfile on a Debian with this machine's Rust, and the archive of a static program."""

import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from deploy.chart import of_kind
from harness import PATIENCE, ROOT, TARGET, get, running, wait_for

pytestmark = pytest.mark.slow

DOCKERFILE = ROOT / "deploy/container/Dockerfile"
PARTS = (r"tokio \d", r"ring \d", r"prometheus-client \d", "The standard library of Rust\n", "musl\n")


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout.strip()


def debian():
    """The root of a Debian with a C compiler, as the image of Rust has it."""
    made = TARGET / "tools/debian-bookworm"
    if not made.exists():
        include = "--include=gcc,libc6-dev,ca-certificates"
        output("mmdebstrap", "--quiet", "--variant=apt", include, "bookworm", made.with_suffix(".new"))
        shutil.copy("/etc/ssl/certs/ca-certificates.crt", made.with_suffix(".new") / "etc/ssl/certs")
        made.with_suffix(".new").rename(made)
    return made


@pytest.fixture(scope="session")
def image(tmp_path_factory):
    """The folder with the root of the image, and its description."""
    folder = tmp_path_factory.mktemp("image")
    storage = ["--root", folder / "storage", "--runroot", folder / "run", "--storage-driver", "vfs"]

    def buildah(*arguments):
        return output("buildah", *storage, *arguments)

    rust = buildah("from", "scratch")
    buildah("add", "--quiet", rust, debian(), "/")
    # Quickly, not well: the profile of a release takes many minutes.
    quick = {"OPT_LEVEL": "0", "LTO": "off", "CODEGEN_UNITS": "16"}
    variables = {f"CARGO_PROFILE_RELEASE_{name}": value for name, value in quick.items()}
    variables |= {"CARGO_HOME": "/cargo", "RUSTUP_HOME": "/rustup", "PATH": "/cargo/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    for name, value in variables.items():
        buildah("config", "--env", f"{name}={value}", rust)
    buildah("commit", "--quiet", "--rm", rust, "rust")
    dockerfile = re.sub("(?m)^FROM rust:.* AS build", "FROM localhost/rust AS build", DOCKERFILE.read_text())
    (folder / "Dockerfile").write_text(dockerfile)
    home = Path.home()
    mounts = [os.environ.get("CARGO_HOME", home / ".cargo"), os.environ.get("RUSTUP_HOME", home / ".rustup")]
    volumes = [f"--volume={here}:{there}" for here, there in zip(mounts, ("/cargo", "/rustup"), strict=True)]
    options = ["--isolation=chroot", "--format=docker", "--pull=never", f"--ignorefile={DOCKERFILE}.dockerignore"]
    buildah("bud", *options, *volumes, "--build-arg=REVISION=abc", "--tag=test", "--file", folder / "Dockerfile", ROOT)
    (folder / "image.json").write_text(buildah("inspect", "--type", "image", "test"))
    container = buildah("from", "--pull-never", "test")
    output("cp", "-a", buildah("mount", container), folder / "root")
    buildah("rm", container)
    buildah("rmi", "--all", "--force")
    return folder


def test_the_image_holds_a_static_program_and_the_user_can_write_its_volume_alone(image):
    root = image / "root"
    program = root / "usr/bin/translation-exporter"
    files = [file for file in root.rglob("*") if file.is_file()]
    assert [file for file in files if file.stat().st_mode & 0o111] == [program]
    assert "INTERP" not in output("readelf", "--program-headers", program)
    assert "revision: abc" in output(program, "--version")
    assert [str(one.relative_to(root)) for one in root.rglob("*") if one.stat().st_uid == 65532] == ["var/lib/translation-exporter"]
    assert (root / "etc/ssl/certs/ca-certificates.crt").read_text().count("BEGIN CERTIFICATE") > 50
    assert "Apache License" in (root / "usr/share/licenses/translation-exporter/LICENSE").read_text()
    licences = (root / "usr/share/licenses/translation-exporter/third-party-licenses.txt").read_text()
    assert all(re.search(rf"\n{part}", licences) for part in PARTS), licences[:2000]
    described = json.loads((image / "image.json").read_text())
    config, health = described["OCIv1"]["config"], described["Docker"]["config"]["Healthcheck"]["Test"]
    assert (config["User"], config["Entrypoint"]) == ("65532:65532", ["/usr/bin/translation-exporter"])
    assert health == ["CMD", "/usr/bin/translation-exporter", "health"]


def test_the_image_serves_the_demo_and_passes_its_own_health_check(image, tmp_path):
    described = json.loads((image / "image.json").read_text())
    entry, health = described["OCIv1"]["config"]["Entrypoint"], described["Docker"]["config"]["Healthcheck"]["Test"][1:]
    environment = os.environ | {"TRANSLATION_EXPORTER_WEB__LISTEN_ADDRESSES": "127.0.0.1:10118"}
    as_user = ["chroot", "--userspec=65532:65532", image / "root"]
    with running([*as_user, *entry, "demo"], tmp_path / "log", env=environment):
        wait_for("the demo has data", lambda: get("http://127.0.0.1:10118/-/ready"))
        assert "translation_ready{" in get("http://127.0.0.1:10118/metrics")
        subprocess.run([*as_user, *health], env=environment, check=True, timeout=PATIENCE)


def test_the_image_understands_the_command_of_every_manifest(image, renderings, tmp_path):
    """With the files at the paths at which the pod mounts them, and as the pod's user."""
    for name, objects in renderings.items():
        (stateful_set,) = of_kind(objects, "StatefulSet")
        spec = stateful_set["spec"]["template"]["spec"]
        (container,) = (one for one in spec["containers"] if one["name"] == "exporter")
        if "demo" in container["args"] or "existing" in name:
            continue
        root = tmp_path / name
        subprocess.run(["cp", "-a", image / "root", root], check=True)
        configs = {one["metadata"]["name"]: one.get("data", {}) for one in of_kind(objects, "ConfigMap")}
        volumes = {one["name"]: one for one in spec["volumes"]}
        for mount in container["volumeMounts"]:
            folder, volume = root / mount["mountPath"].lstrip("/"), volumes.get(mount["name"], {})
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o777)
            files = configs.get(volume.get("configMap", {}).get("name"), {})
            if mount["name"] == "api-key":
                files = {one["path"]: "a-key" for one in volume["secret"]["items"]}
            if mount["name"] == "web-config":
                files = {"web.yaml": "{}"}
            for file, text in files.items():
                (folder / file).write_text(text)
        # A cluster that chooses the user takes one that no image knows.
        user = spec["securityContext"].get("runAsUser", 1000650000)
        command = ["chroot", f"--userspec={user}:0", root, "/usr/bin/translation-exporter", "check-config", *container["args"]]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        shutil.rmtree(root)


def test_the_archive_holds_the_program_its_unit_under_both_names_and_licences(static, tmp_path):
    subprocess.run(["strip", "-o", tmp_path / "program", static], check=True)
    subprocess.run([ROOT / "deploy/release/package.sh", tmp_path / "program", tmp_path], check=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as content:
        folder = content.getnames()[0]
        names = {name.removeprefix(f"{folder}/") for name in content.getnames()[1:] if content.getmember(name).isfile()}
        licences = content.extractfile(f"{folder}/third-party-licenses.txt").read().decode()
    units = {f"systemd/{name}" for name in ("translation-exporter.service", "translation-exporter@.service", "config.yaml")}
    assert names == {"translation-exporter", "LICENSE", "third-party-licenses.txt"} | units
    assert all(re.search(rf"\n{part}", licences) for part in PARTS), licences[:2000]


def test_a_release_builds_the_image_for_both_platforms(static, tmp_path):
    """One compiled program stands for both platforms here."""
    for arch in ("amd64", "arm64"):
        root = tmp_path / "programs" / arch / "image"
        for folder in ("usr/bin", "usr/share/licenses/translation-exporter"):
            (root / folder).mkdir(parents=True)
        output("strip", "-o", root / "usr/bin/translation-exporter", static)
    # Without the base on Alpine, which is not here.
    for file in ("deploy/release/image.sh", "deploy/container/Dockerfile", "deploy/container/Dockerfile.dockerignore", "LICENSE"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    dockerfile = tmp_path / "deploy/container/Dockerfile"
    dockerfile.write_text(re.sub("(?m)^FROM alpine:.* AS", "FROM scratch AS", dockerfile.read_text()))
    storage = f"buildah --root {tmp_path}/storage --runroot {tmp_path}/run --storage-driver vfs"
    arguments = [tmp_path / "programs", "test", "1.2.3", "abc", "2026-01-02T03:04:05Z"]
    output(tmp_path / "deploy/release/image.sh", *arguments, env=os.environ | {"BUILDAH": storage})
    for name in ("test", "test-alpine"):
        manifest = json.loads(output(*storage.split(), "manifest", "inspect", name))
        assert {image["platform"]["architecture"] for image in manifest["manifests"]} == {"amd64", "arm64"}
