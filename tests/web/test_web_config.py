"""The web configuration files of files/: Debian's promtool must accept the good ones and refuse the bad ones.

A file where promtool differs from its name says so in a line `# promtool: accepts …`. A unit test of src/server/web_config.rs reads
the same files. The placeholders @bcrypt@, @server.pem@ and so on stand for what no repository should hold.
"""

import re
import subprocess
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parent / "files").glob("*.yml"))
BCRYPT = "$2b$04$aaaaaaaaaaaaaaaaaaaaauzbV6p95KNccra2spZiE0ytwwoFKN9Na"


@pytest.fixture
def folder(certificate, tmp_path):
    for name, *signed in (("ca",), ("server", "ca", "DNS:localhost"), ("other",)):
        certificate(name, *signed)
    (tmp_path / "none.pem").write_text("nothing in here\n")
    (tmp_path / "none.key").write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    return tmp_path


def test_promtool_agrees_with_the_name_of_each_file(folder):
    assert len(FILES) > 50
    for file in FILES:
        text = file.read_text(errors="surrogateescape").replace("@bcrypt@", BCRYPT)
        for name in ("server.pem", "server.key", "ca.pem"):
            indented = re.sub("^", "    ", (folder / name).read_text().strip(), flags=re.MULTILINE)
            text = re.sub(rf".*@{re.escape(name)}@.*", indented, text)
        (folder / file.name).write_text(text, errors="surrogateescape")
        command = ["promtool", "check", "web-config", file.name]
        accepted = subprocess.run(command, cwd=folder, capture_output=True).returncode == 0
        differs = re.search(r"^# promtool: (\w+)", text, re.MULTILINE)
        expected = differs[1] if differs else "accepts" if file.name.startswith("good-") else "refuses"
        assert ("accepts" if accepted else "refuses") == expected, file.name
