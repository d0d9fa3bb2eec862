"""The image, built as a release builds it of a program that exists, and the pods and the unit that run in sandboxes."""

import json
import os
import shutil
import subprocess
import sys

import pytest
import yaml
from harness import ROOT, TARGET

pytestmark = pytest.mark.slow

HERE = ROOT / "tests/deploy"
ARCH = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()


def sandboxed(script, *arguments, **variables):
    """Runs a script of this folder, which enters namespaces of its own."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}/tests:{HERE}"} | variables
    done = subprocess.run([sys.executable, HERE / script, *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def image(tmp_path_factory):
    """The folder with the root of the image, and its description."""
    folder = tmp_path_factory.mktemp("image")
    host = subprocess.run(["rustc", "--print", "host-tuple"], check=True, capture_output=True, text=True).stdout.strip()
    command = ["cargo", "build", "--quiet", "--locked", "--target", host, "--target-dir", TARGET / "static"]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"RUSTFLAGS": "-C target-feature=+crt-static"}, check=True)
    stage = folder / "stage" / ARCH
    for made in ("image/usr/bin", "image/etc/ssl/certs", "image/var/lib", "image/usr/share/licenses/translation-exporter", "state"):
        (stage / made).mkdir(parents=True)
    subprocess.run(
        ["strip", "-o", stage / "image/usr/bin/translation-exporter", TARGET / f"static/{host}/debug/translation-exporter"], check=True
    )
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", stage / "image/etc/ssl/certs")
    (stage / "image/usr/share/licenses/translation-exporter/third-party-licenses.txt").touch()
    (folder / "context").mkdir()
    shutil.copy(ROOT / "LICENSE", folder / "context")

    def buildah(*arguments):
        storage = ["--root", folder / "storage", "--runroot", folder / "run", "--storage-driver", "vfs"]
        return subprocess.run(["buildah", *storage, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    build = ["--isolation", "chroot", "--format", "docker", "--build-context", f"build={folder}/stage", "--tag", "test"]
    buildah("bud", *build, "--file", ROOT / "deploy/container/Dockerfile", folder / "context")
    (folder / "image.json").write_text(buildah("inspect", "--type", "image", "test"))
    container = buildah("from", "--pull-never", "test")
    subprocess.run(["cp", "-a", buildah("mount", container), folder / "root"], check=True)
    buildah("rm", container)
    buildah("rmi", "--all", "--force")
    return folder


def test_the_image_holds_a_static_program_and_the_user_can_write_its_volume_alone(image):
    root = image / "root"
    files = [file for file in root.rglob("*") if file.is_file()]
    assert [file.relative_to(root).as_posix() for file in files if file.stat().st_mode & 0o111] == ["usr/bin/translation-exporter"]
    headers = subprocess.run(
        ["readelf", "--program-headers", root / "usr/bin/translation-exporter"], check=True, capture_output=True, text=True
    )
    assert "INTERP" not in headers.stdout
    assert [str(one.relative_to(root)) for one in root.rglob("*") if one.stat().st_uid == 65532] == ["var/lib/translation-exporter"]
    licences = root / "usr/share/licenses/translation-exporter"
    assert {file.name for file in licences.iterdir()} == {"LICENSE", "third-party-licenses.txt"}
    described = json.loads((image / "image.json").read_text())
    config, health = described["OCIv1"]["config"], described["Docker"]["config"]["Healthcheck"]["Test"]
    assert (config["User"], config["Entrypoint"]) == ("65532:65532", ["/usr/bin/translation-exporter"])
    assert health == ["CMD", "/usr/bin/translation-exporter", "health"]


@pytest.mark.parametrize("name", ["plain", "demo", "chart-no-persistence", "chart-openshift", "chart-tls", "chart-client-certificates"])
def test_a_pod_is_probed_gets_a_rotated_key_and_restarts_from_its_volume(name, image, renderings, built, tmp_path):
    (tmp_path / "manifest.yaml").write_text(yaml.safe_dump_all(renderings[name]))
    fake_api = built / "examples/fake-api"
    sandboxed("pod.py", tmp_path / "manifest.yaml", image / "root", image / "image.json", fake_api, SANDBOX=str(image))


def test_the_unit_notifies_reloads_and_reads_its_credentials(program, built, tmp_path):
    service, readme = ROOT / "deploy/systemd/translation-exporter.service", ROOT / "docs/install.md"
    sandboxed("unit.py", str(program), service, readme, str(tmp_path / "unit"), built / "examples/fake-api")
    calls = set((tmp_path / "unit/system-calls").read_text().split())
    filters = {name: system_calls(name) for name in ("@system-service", "@default", "@privileged", "@resources")}
    # systemd always allows @default.
    assert calls <= (filters["@system-service"] | filters["@default"]) - filters["@privileged"] - filters["@resources"]


def system_calls(name):
    """The members of a set of systemd, and of the sets in it."""
    said = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name], check=True, capture_output=True, text=True).stdout
    members = {line.strip() for line in said.splitlines()[1:] if line.startswith(" ") and not line.strip().startswith("#")}
    return {call for one in members for call in (system_calls(one) if one.startswith("@") else {one})}
