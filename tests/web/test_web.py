"""Tests the web side of the built program with curl, openssl, Prometheus, html-validate and axe-core.

The variables PROGRAM and FAKE_API name the built programs, NODE_FOLDER the folder with the npm packages.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from contextlib import ExitStack
from pathlib import Path

from harness import FakeApi, Prometheus, address, get, running, wait_for

HERE = Path(__file__).resolve().parent
# By password.
HASHES = {
    "open": "$2b$04$aaaaaaaaaaaaaaaaaaaaauzbV6p95KNccra2spZiE0ytwwoFKN9Na",
    "sesame": "$2b$04$aaaaaaaaaaaaaaaaaaaaauSZTxigf0YGdvl0Fqj.VQW6uFQcav8Fm",
    "changed": "$2b$04$aaaaaaaaaaaaaaaaaaaaauAeTMUJag6sCYY54kP96t/vwNLCF4.hq",
}
TLS = "tls_server_config: {cert_file: server.pem, key_file: server.key"
MUTUAL = f"""{TLS}, client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.pem, client_allowed_sans: [prometheus.example]}}"""
ALICE, CA, STRANGER = ["--user", "alice:open"], ["--cacert", "ca.pem"], ["--cacert", "stranger.pem"]
REFUSED = "000"  # curl prints this for a connection without a response
NAMES = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "x" * 300, "owner/\u202e\u05e2\u05d1\u05e8\u05d9\u05ea",
    "a/'&amp;`{}\0\b\ufffe", "owner/plain",
]  # fmt: skip
HTML_RULES = {
    "extends": ["html-validate:recommended", "html-validate:a11y"],
    "rules": dict.fromkeys(["long-title", "no-trailing-whitespace", "doctype-style", "void-style", "attr-quotes"], "off"),
}


def with_users(**passwords):
    return f"{TLS}}}\nbasic_auth_users: {json.dumps({user: HASHES[password] for user, password in passwords.items()})}\n"


def certificate_of(name):
    return ["--cert", f"{name}.pem", "--key", f"{name}.key"]


class Web(unittest.TestCase):
    def setUp(self):
        self.stack = ExitStack()
        self.addCleanup(self.stack.close)
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.certificate("ca")
        self.certificate("stranger")
        self.certificate("server", "ca", "DNS:localhost,IP:127.0.0.1")
        self.certificate("prometheus", "ca", "DNS:prometheus.example")
        self.certificate("guest", "ca", "DNS:guest.example")
        self.certificate("burglar", "stranger", "DNS:prometheus.example")

    def run_here(self, *command, **options):
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)

    def certificate(self, name, authority=None, names=None):
        """Replaces certificate and key one after the other, like a renewal."""
        signed = ["-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-addext", "basicConstraints=CA:FALSE",
                  "-addext", f"subjectAltName={names}"] if authority else []  # fmt: skip
        self.run_here("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                      "-subj", f"/CN={name}", *signed, "-keyout", "new.key", "-out", "new.pem", check=True)  # fmt: skip
        for kind in ("key", "pem"):
            (self.folder / f"new.{kind}").rename(self.folder / f"{name}.{kind}")

    def replace(self, file, text):
        (self.folder / "new").write_text(text)
        (self.folder / "new").rename(self.folder / file)

    def start(self, name, *arguments, web=None, **settings):
        """Starts the program and returns its URL; `web` is the text of a web configuration file."""
        if web:
            self.replace(f"{name}.yml", web)
            arguments = [*arguments, f"--web.config.file={name}.yml"]
        variables = {f"TRANSLATION_EXPORTER_{key.upper()}": value for key, value in settings.items()}
        command = [os.environ["PROGRAM"], *arguments, "--web.listen-address=127.0.0.1:0"]
        log = self.folder / f"{name}.log"
        self.process = self.stack.enter_context(running(command, log, cwd=self.folder, env=os.environ | variables))
        return f"{'https' if web else 'http'}://localhost:{address(self.process, log).rpartition(':')[2]}"

    def curl(self, url, *arguments, show="http_code"):
        return self.run_here("curl", "--silent", "--output", "body", "--max-time", "10", "--write-out", f"%{{{show}}}", *arguments, url).stdout

    def assert_answers(self, cases):
        for expected, url, *arguments in cases:
            self.assertEqual(self.curl(url, *arguments), expected, f"{url} {arguments}")

    def metrics(self, url):
        self.curl(f"{url}/metrics", *CA, *ALICE)
        return (self.folder / "body").read_text()

    def test_passwords_over_tls(self):
        url = self.start("tls", "demo", web=with_users(alice="open", bob="sesame"))
        self.assert_answers([
            ("200", f"{url}/metrics", *CA, *ALICE),
            ("200", f"{url}/", *CA, "--user", "bob:sesame"),
            ("401", f"{url}/metrics", *CA),
            ("401", f"{url}/metrics", *CA, "--user", "alice:sesame"),
            ("401", f"{url}/", *CA, "--user", "carol:open"),
            ("401", f"{url}/nothing", *CA),
            ("200", f"{url}/-/healthy", *CA),
            (REFUSED, f"{url}/metrics", *STRANGER, *ALICE),
            ("400", f"{url.replace('https', 'http')}/metrics"),
        ])  # fmt: skip
        self.assertEqual(self.curl(f"{url}/-/healthy", *CA, "--http2", show="http_version"), "1.1")

    def test_old_versions_and_suites_are_refused(self):
        host = self.start("tls", "demo", web=f"{TLS}}}").removeprefix("https://")
        for expected, *options in (
            (True, "-tls1_3"),
            (True, "-tls1_2"),
            (False, "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"),
            (False, "-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"),
        ):
            said = self.run_here("openssl", "s_client", "-connect", host, "-CAfile", "ca.pem", "-verify_return_error", *options).stdout
            self.assertEqual(bool(re.search("^New, TLSv1", said, re.MULTILINE)), expected, options)

    def test_the_five_policies_for_client_certificates_and_the_alias(self):
        url = self.start("policy", "demo", web=f"{TLS}}}")
        for number, (policy, *expected) in enumerate((
            # The client sends no certificate, a stranger's, and the authority's.
            ("NoClientCert", "200", "200", "200"),
            ("RequestClientCert", "200", "200", "200"),
            ("RequireAnyClientCert", REFUSED, "200", "200"),
            ("RequireClientCert", REFUSED, "200", "200"),
            ("VerifyClientCertIfGiven", "200", REFUSED, "200"),
            ("RequireAndVerifyClientCert", REFUSED, REFUSED, "200"),
        ), 1):  # fmt: skip
            authority = "" if policy == "NoClientCert" else ", client_ca_file: ca.pem"
            self.replace("policy.yml", f"{TLS}{authority}, client_auth_type: {policy}}}\n")
            self.process.send_signal(signal.SIGHUP)
            log, read = self.folder / "policy.log", "the configuration was read again"
            wait_for(f"the reload for {policy}", lambda log=log, read=read, number=number: log.read_text().count(read) == number)
            given = ([], certificate_of("burglar"), certificate_of("prometheus"))
            self.assertEqual([self.curl(f"{url}/metrics", *CA, *one) for one in given], expected, policy)

    def test_prometheus_scrapes_while_certificate_and_password_change(self):
        password = self.start("password", "demo", web=with_users(alice="open", bob="sesame"))
        mutual = self.start("mutual", "demo", web=MUTUAL)
        self.assert_answers([
            ("200", f"{mutual}/metrics", *CA, *certificate_of("prometheus")),
            (REFUSED, f"{mutual}/-/healthy", *CA),
            (REFUSED, f"{mutual}/metrics", *CA, *certificate_of("burglar")),
        ])  # fmt: skip
        self.assertEqual(self.curl(f"{mutual}/-/healthy", *CA, *certificate_of("prometheus"), "--http2", show="http_version"), "1.1")

        def job(name, url, **how):
            tls = {"ca_file": "ca.pem"} | how.pop("tls_config", {})
            targets = [{"targets": [url.removeprefix("https://")]}]
            return {"job_name": name, "scheme": "https", "static_configs": targets, "tls_config": tls, **how}

        def certificate(name):
            return {"cert_file": f"{name}.pem", "key_file": f"{name}.key"}

        (self.folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [
                job("password", password, basic_auth={"username": "alice", "password": "open"}),
                job("wrong password", password, basic_auth={"username": "alice", "password": "sesame"}),
                job("certificate", mutual, tls_config=certificate("prometheus")),
                job("wrong certificate", mutual, tls_config=certificate("guest")),
            ],
        }))  # fmt: skip
        prometheus = self.stack.enter_context(Prometheus.start(self.folder, "prometheus.yml"))
        may = {"password": 1, "wrong password": 0, "certificate": 1, "wrong certificate": 0}

        def by_job(expr):
            return {labels["job"]: value for labels, value in prometheus.now(expr)}

        wait_for("the two permitted jobs scrape", lambda: by_job("up") == may)
        wait_for("series arrive", lambda: by_job("count by (job) (translation_up)") == {"password": 1, "certificate": 1})
        changing, old = time.time(), self.curl(f"{password}/metrics", *CA, show="certs")
        self.certificate("server", "ca", "DNS:localhost,IP:127.0.0.1")
        wait_for("the new certificate", lambda: self.curl(f"{password}/metrics", *CA, show="certs") not in (old, ""))
        self.replace("password.yml", with_users(alice="open", bob="changed"))
        wait_for("the new password", lambda: self.curl(f"{password}/metrics", *CA, "--user", "bob:changed") == "200")
        self.assert_answers([("401", f"{password}/metrics", *CA, "--user", "bob:sesame")])
        changed = time.time()
        thrice = dict.fromkeys(may, 1)
        wait_for("three scrapes since", lambda: by_job(f"count_over_time(up[{int(time.time() - changed) or 1}s]) >= bool 3") == thrice)
        self.assertEqual(by_job(f"min_over_time(up[{int(time.time() - changing) + 1}s])"), may, "a scrape failed meanwhile")

    def test_a_broken_change_is_refused_until_it_is_corrected(self):
        web = with_users(alice="open")
        url = self.start("tls", "demo", web=web)
        good = (self.folder / "server.pem").read_text()

        def taken(value):
            line = f"translation_exporter_config_last_reload_successful {value}"
            wait_for(line, lambda: line in self.metrics(url).splitlines())

        for file, broken, right in (("tls.yml", "", web), ("server.pem", "nothing in here\n", good)):
            (self.folder / file).write_text(broken)
            taken(0)
            self.assert_answers([("401", f"{url}/metrics", *CA), ("200", f"{url}/metrics", *CA, *ALICE)])
            (self.folder / file).write_text(right)
            taken(1)
        log = (self.folder / "tls.log").read_text()
        self.assertIn("is refused; the previous one stays active", log)
        self.assertNotRegex(log, r"\$2b\$|BEGIN")

    def reading(self, *repositories, lose=()):
        """Starts an exporter, waits until it has read these repositories, and returns its URL."""
        api = self.stack.enter_context(FakeApi(os.environ["FAKE_API"]))
        api.put(*repositories)
        api.command("lose", list(lose))
        url = self.start("reading", api__base_url=api.url, api__key=FakeApi.KEY, api__requests_per_second="0")
        wait_for("a whole poll", lambda: "\ntranslation_exporter_polls_total 1\n" in get(f"{url}/metrics"))
        return url

    def test_the_page_is_valid_html_with_hostile_names(self):
        names = enumerate(NAMES, 1)
        hostile = self.reading(*((id, name, {code: 12.5 * at for at, code in enumerate(NAMES)}) for id, name in names))
        demo = self.start("demo", "demo")
        pages = {
            "hostile.html": f"{hostile}/", "search.html": f"{hostile}/?q=%22%3E%3Cscript%3E&sort=%3C", "demo.html": f"{demo}/?sort=-name",
        }  # fmt: skip
        for file, url in pages.items():
            html = get(url)
            # No name may become a script or an image.
            self.assertNotRegex(html, "(?i)<script|<img")
            (self.folder / file).write_text(html)
        (self.folder / ".htmlvalidate.json").write_text(json.dumps(HTML_RULES))
        validate = f"{os.environ['NODE_FOLDER']}/node_modules/.bin/html-validate"
        done = self.run_here(validate, "--config", ".htmlvalidate.json", *pages)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_axe_core_finds_no_barrier_in_the_page(self):
        # 220 repositories by 25 languages, some of which fail, and a language that reports no completion.
        many = self.reading(*(
            (id, f"owner/repository-{id}", {
                f"l{10 + at}": None if at == 3 else (id * 7 + at * 13) % 101 for at in range(25) if (id + at) % 6
            })
            for id in range(1, 221)
        ), lose=range(7, 221, 20))  # fmt: skip
        demo = self.start("demo", "demo")
        done = self.run_here(
            "node", HERE / "axe.mjs", os.environ["NODE_FOLDER"], f"{many}/", f"{many}/?q=nothing", f"{demo}/?sort=-progress",
            env=os.environ | {"CHROMIUM": shutil.which("chromium")},
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
