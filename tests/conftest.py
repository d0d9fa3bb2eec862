"""The fixtures of all tests in Python: the built program, an API to read, a Prometheus, a browser, certificates.

Tests get a server by calling the fixture, such as `exporter("demo")`; each ends with its test. `harness.py` holds the classes.
"""

import contextlib
import os
import platform
import shutil
import subprocess

import pytest
from harness import ROOT, TARGET, Exporter, FakeApi, Prometheus


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run the tests that take minutes, too")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--all"):
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
    # These wait for minutes, so others run meanwhile.
    items.sort(key=lambda item: item.path.name != "test_tls.py")


@pytest.fixture(scope="session")
def built():
    """The folder of the programs that cargo built."""
    command = ["cargo", "build", "--quiet", "--locked", "--bin", "translation-exporter", "--example", "fake-api"]
    subprocess.run(command, cwd=ROOT, check=True)
    return TARGET / "debug"


@pytest.fixture(scope="session")
def program(built):
    return built / "translation-exporter"


@pytest.fixture(scope="session")
def static():
    """The program as it is released: linked statically, by musl; but not optimised."""
    target = f"{platform.machine()}-unknown-linux-musl"
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--bin", "translation-exporter", "--target", target], cwd=ROOT, check=True)
    return TARGET / target / "debug/translation-exporter"


@pytest.fixture
def ends():
    """Ends at the end of the test what is entered into it."""
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def start_api(ends, built):
    """Starts a further API: `start_api(FOLDER, HOST)` for TLS."""
    return lambda *arguments: ends.enter_context(FakeApi(built / "examples/fake-api", *arguments))


@pytest.fixture
def api(start_api):
    return start_api()


@pytest.fixture
def exporter(ends, program, tmp_path):
    """Starts the program: `exporter("demo")`, or `exporter(api=api, poll__interval="1s")` with keys of the configuration."""

    def start(*arguments, api=None, scheme="http", address="127.0.0.1:0", environment=None, **keys):
        if api:
            keys = {"api__base_url": api.url, "api__key": FakeApi.KEY, "api__requests_per_second": 0} | keys
        variables = {f"TRANSLATION_EXPORTER_{key.upper()}": str(value) for key, value in keys.items()}
        command = [program, *arguments, f"--web.listen-address={address}"]
        environment = os.environ | variables | (environment or {})
        return ends.enter_context(Exporter.start(tmp_path, command, scheme, environment))

    return start


@pytest.fixture
def prometheus(ends, tmp_path):
    """Starts a Prometheus with a configuration of the test's folder: `prometheus("prometheus.yml")`."""
    return lambda config, *options: ends.enter_context(Prometheus.start(tmp_path, config, *options))


@pytest.fixture(scope="session")
def browser():
    """The Chromium of the system. A container has no sandbox for it, and little shared memory."""
    from playwright.sync_api import sync_playwright

    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=arguments)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def npm():
    """The folder of the installed npm packages."""
    return TARGET / "tools/npm/node_modules"


@pytest.fixture
def certificate(tmp_path):
    """Makes NAME.pem and NAME.key in the test's folder, replacing one after the other, like a renewal."""

    def make(name, authority=None, names=None, days=2):
        signed = ["-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-addext", "basicConstraints=CA:FALSE"] if authority else []
        signed += ["-addext", f"subjectAltName={names}"] if names else []
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", str(days)]
        command += ["-subj", f"/CN={name}", *signed, "-keyout", "new.key", "-out", "new.pem"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        for kind in ("key", "pem"):
            (tmp_path / f"new.{kind}").rename(tmp_path / f"{name}.{kind}")

    return make
