"""The page under a sub-path behind nginx, which is configured as docs/install.md shows."""

import html
import re
import socket
import urllib.error
import urllib.parse
import urllib.request

from harness import PATIENCE, ROOT, running, wait_for


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def fetch(url):
    """Status, final address and body."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as response:
            return response.status, response.url, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.url, error.read().decode()


def configuration(exporter, port, folder):
    """nginx's own, around the block of docs/install.md."""
    (block,) = re.findall(r"(?ms)^```nginx\n(.*?)^```", (ROOT / "docs/install.md").read_text())
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


def links(page, base):
    """The addresses that a page names, each of which must lead below `base`."""
    status, landed, body = fetch(page)
    assert (status, landed) == (200, page), f"{page}: {status} at {landed}"
    named = re.findall(r'\s(?:href|src|action|data|poster)="([^"]*)"', body)
    found = {
        urllib.parse.urldefrag(urllib.parse.urljoin(page, html.unescape(link))).url
        for link in named
        if not link.startswith(("data:", "mailto:"))
    }
    assert all(link.startswith(base) for link in found), (page, found)
    return found


def test_every_link_works_under_a_sub_path(api, exporter, tmp_path):
    api.put((1, "acme/webshop", {"de": 40, "fr": 100}), (2, "acme/docs", {"de": 100, "pt-BR": 60}))
    port = free_port()
    (tmp_path / "nginx.conf").write_text(configuration(exporter(api=api).host, port, tmp_path))
    with running(["nginx", "-c", str(tmp_path / "nginx.conf"), "-p", str(tmp_path)], tmp_path / "nginx.log"):
        base = f"http://127.0.0.1:{port}/l10n/"
        wait_for("the page shows what was read, through nginx", lambda: "pt-BR" in fetch(base)[2])
        assert fetch(base.rstrip("/"))[:2] == (200, base), "without the final slash"
        found = links(base, base)
        assert found >= {f"{base}{path}" for path in ("metrics", "-/ready", "-/healthy")}, found
        for link in found | {f"{base}?q=web", f"{base}?language=de&due=none"}:
            links(link, base)
