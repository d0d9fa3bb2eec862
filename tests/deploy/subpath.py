#!/usr/bin/env python3
"""The page under a sub-path behind nginx, which is configured as the chart's README shows: subpath.py PROGRAM FAKE_API README FOLDER.

Every link of the page leads back to it, whether the search, a language or a sort order brought it up.
"""

import html.parser
import json
import pathlib
import re
import shutil
import socket
import sys
import urllib.error
import urllib.parse
import urllib.request

from harness import FakeApi, address, running, wait_for

# Where the links of the page lead besides to itself, relative to the sub-path.
ENDPOINTS = {"", "metrics", "-/ready", "-/healthy"}
# Other links that it may have.
MORE = {"translations.json"}


class Links(html.parser.HTMLParser):
    """Every address that a page names."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("href", "src", "action", "data", "poster") and value is not None]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def fetch(url):
    """Status, final address and body."""
    try:
        with urllib.request.urlopen(url, timeout=20) as response:
            return response.status, response.url, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.url, error.read().decode()


def configuration(readme, exporter, port, folder):
    """nginx's own, around the README's block."""
    (block,) = re.findall(r"(?ms)^```nginx\n(.*?)^```", pathlib.Path(readme).read_text())
    block = block.replace("127.0.0.1:10018", exporter)
    assert exporter in block, block
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return f"""
daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr;
events {{}}
http {{
  access_log off; {temporary}
  server {{ listen 127.0.0.1:{port}; absolute_redirect off; {block} }}
}}
"""


def check(base):
    """Follows every link from the page, and from those pages that it leads to."""
    status, landed, _ = fetch(base.rstrip("/"))
    assert (status, landed) == (200, base), f"without the final slash: {status} at {landed}"
    queue, seen, targets = [base, f"{base}?q=web", f"{base}?language=de", f"{base}?sort=name"], set(), set()
    while queue:
        page = queue.pop()
        status, landed, body = fetch(page)
        assert (status, landed) == (200, page), f"{page}: {status} at {landed}"
        for link in Links(body).found:
            target = urllib.parse.urldefrag(urllib.parse.urljoin(page, link)).url
            if target.startswith("data:") or target in seen:
                continue
            seen.add(target)
            assert target.startswith(base), f"{page} leads out of {base}: {link}"
            path = target.removeprefix(base).partition("?")[0]
            assert path in ENDPOINTS | MORE, f"{page}: {link}"
            targets.add(path)
            if path == "" and len(seen) < 60:
                queue.append(target)
            else:
                status, landed, _ = fetch(target)
                assert (status, landed) == (200, target), f"{target}: {status} at {landed}"
    assert targets >= ENDPOINTS, targets
    _, _, body = fetch(f"{base}?q=webshop")
    found = json.loads(fetch(f"{base}translations.json?repo=acme/web*")[2])["repositories"]
    assert [one["name"] for one in found] == ["acme/webshop"], found
    text = re.sub("<[^>]*>", "", body)
    assert "acme/webshop" in text and "1 repository found for “webshop”" in text, text
    return len(seen)


def main(program, fake_api, readme, folder):
    folder = pathlib.Path(folder).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with FakeApi(fake_api) as api:
        api.put((1, "acme/webshop", {"de": 40, "fr": 100}), (2, "acme/docs", {"de": 100, "pt-BR": 60}))
        (folder / "exporter.yaml").write_text(json.dumps({
            "api": {"base_url": api.url, "key": FakeApi.KEY}, "web": {"listen_addresses": ["127.0.0.1:0"]},
        }))
        with running([program, "--config.file", str(folder / "exporter.yaml")], folder / "exporter.log") as process:
            exporter, port = address(process, folder / "exporter.log"), free_port()
            (folder / "nginx.conf").write_text(configuration(readme, exporter, port, folder))
            with running(["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)], folder / "nginx.log"):
                base = f"http://127.0.0.1:{port}/l10n/"
                wait_for("the page shows what was read, through nginx", lambda: "pt-BR" in fetch(base)[2])
                print(f"{check(base)} links under {urllib.parse.urlsplit(base).path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
