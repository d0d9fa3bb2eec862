"""TLS, passwords and client certificates of the built program, with curl, openssl and Prometheus."""

import json
import re
import subprocess
import time

import pytest
from harness import replace, wait_for

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


def with_users(**passwords):
    return f"{TLS}}}\nbasic_auth_users: {json.dumps({user: HASHES[password] for user, password in passwords.items()})}\n"


def certificate_of(name):
    return ["--cert", f"{name}.pem", "--key", f"{name}.key"]


@pytest.fixture
def serve(tmp_path, certificate, exporter):
    """Starts the demo with the text of a web configuration file NAME.yml, beside the certificates of everybody."""
    certificate("ca")
    certificate("stranger")
    certificate("server", "ca", "DNS:localhost,IP:127.0.0.1")
    certificate("prometheus", "ca", "DNS:prometheus.example")
    certificate("guest", "ca", "DNS:guest.example")
    certificate("burglar", "stranger", "DNS:prometheus.example")

    def start(name, web):
        (tmp_path / f"{name}.yml").write_text(web)
        return exporter("demo", f"--web.config.file={name}.yml", scheme="https")

    return start


@pytest.fixture
def curl(tmp_path):
    """Returns the value that curl writes out about a request; the body goes into a file."""

    def ask(url, *arguments, show="http_code"):
        command = ["curl", "--silent", "--output", "body", "--max-time", "10", "--write-out", f"%{{{show}}}", *arguments, url]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout

    return ask


def test_passwords_over_tls(serve, curl):
    url = serve("tls", with_users(alice="open", bob="sesame")).url
    for expected, target, *arguments in (
        ("200", f"{url}/metrics", *CA, *ALICE),
        ("200", f"{url}/", *CA, "--user", "bob:sesame"),
        ("401", f"{url}/metrics", *CA),
        ("401", f"{url}/metrics", *CA, "--user", "alice:sesame"),
        ("401", f"{url}/", *CA, "--user", "carol:open"),
        ("401", f"{url}/nothing", *CA),
        ("200", f"{url}/-/healthy", *CA),
        (REFUSED, f"{url}/metrics", *STRANGER, *ALICE),
        ("000", f"{url.replace('https', 'http')}/metrics"),
    ):
        assert curl(target, *arguments) == expected, (target, arguments)
    assert curl(f"{url}/-/healthy", *CA, "--http2", show="http_version") == "1.1"


def test_old_versions_and_suites_and_http_2_are_refused(serve, tmp_path):
    host = serve("tls", f"{TLS}}}").host
    for expected, *options in (
        (True, "-tls1_3"),
        (True, "-tls1_2"),
        (False, "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"),
        (False, "-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"),
        (False, "-tls1_2", "-alpn", "h2"),
    ):
        command = ["openssl", "s_client", "-connect", host, "-CAfile", "ca.pem", "-verify_return_error", *options]
        said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
        assert bool(re.search("^New, TLSv1", said, re.MULTILINE)) == expected, options


def test_the_five_policies_for_client_certificates_and_the_alias(serve, curl):
    for policy, *expected in (
        # The client sends no certificate, a stranger's, and the authority's.
        ("NoClientCert", "200", "200", "200"),
        ("RequestClientCert", "200", "200", "200"),
        ("RequireAnyClientCert", REFUSED, "200", "200"),
        ("RequireClientCert", REFUSED, "200", "200"),
        ("VerifyClientCertIfGiven", "200", REFUSED, "200"),
        ("RequireAndVerifyClientCert", REFUSED, REFUSED, "200"),
    ):  # fmt: skip
        authority = "" if policy == "NoClientCert" else ", client_ca_file: ca.pem"
        exporter = serve(policy, f"{TLS}{authority}, client_auth_type: {policy}}}\n")
        given = ([], certificate_of("burglar"), certificate_of("prometheus"))
        assert [curl(f"{exporter.url}/metrics", *CA, *one) for one in given] == expected, policy


def test_prometheus_scrapes_while_certificate_and_password_change(serve, curl, certificate, prometheus, tmp_path):
    password, mutual = serve("password", with_users(alice="open", bob="sesame")), serve("mutual", MUTUAL)
    assert curl(f"{mutual.url}/metrics", *CA, *certificate_of("prometheus")) == "200"
    assert curl(f"{mutual.url}/-/healthy", *CA) == REFUSED
    assert curl(f"{mutual.url}/metrics", *CA, *certificate_of("burglar")) == REFUSED

    def job(name, exporter, **how):
        tls = {"ca_file": "ca.pem"} | how.pop("tls_config", {})
        return {"job_name": name, "scheme": "https", "static_configs": [{"targets": [exporter.host]}], "tls_config": tls, **how}

    def files_of(name):
        return {"cert_file": f"{name}.pem", "key_file": f"{name}.key"}

    (tmp_path / "prometheus.yml").write_text(json.dumps({
        # Long enough for a pause of this machine: no scrape may fail.
        "global": {"scrape_interval": "5s", "scrape_timeout": "5s"},
        "scrape_configs": [
            job("password", password, basic_auth={"username": "alice", "password": "open"}),
            job("wrong password", password, basic_auth={"username": "alice", "password": "sesame"}),
            job("certificate", mutual, tls_config=files_of("prometheus")),
            job("wrong certificate", mutual, tls_config=files_of("guest")),
        ],
    }))  # fmt: skip
    server = prometheus("prometheus.yml")
    may = {"password": 1, "wrong password": 0, "certificate": 1, "wrong certificate": 0}

    def by_job(expr):
        return {labels["job"]: value for labels, value in server.now(expr)}

    wait_for("the two permitted jobs scrape", lambda: by_job("up") == may)
    wait_for("series arrive", lambda: by_job("count by (job) (translation_up)") == {"password": 1, "certificate": 1})
    changing, old = time.time(), curl(f"{password.url}/metrics", *CA, show="certs")
    certificate("server", "ca", "DNS:localhost,IP:127.0.0.1")
    replace(tmp_path / "password.yml", with_users(alice="open", bob="changed"))
    wait_for("the new certificate", lambda: curl(f"{password.url}/metrics", *CA, show="certs") not in (old, ""))
    wait_for("the new password", lambda: curl(f"{password.url}/metrics", *CA, "--user", "bob:changed") == "200")
    assert curl(f"{password.url}/metrics", *CA, "--user", "bob:sesame") == "401"
    changed = time.time()
    twice = dict.fromkeys(may, 1)
    wait_for("two scrapes since", lambda: by_job(f"count_over_time(up[{int(time.time() - changed) or 1}s]) >= bool 2") == twice)
    assert by_job(f"min_over_time(up[{int(time.time() - changing) + 1}s])") == may, "a scrape failed meanwhile"


def test_a_broken_change_is_refused_until_it_is_corrected(serve, curl, tmp_path):
    # Each follows its file by itself, so both wait at once.
    web = with_users(alice="open")
    good = (tmp_path / "server.pem").read_text()
    (tmp_path / "renewed.pem").write_text(good)
    settings, certificates = serve("settings", web), serve("certificates", web.replace("server.pem", "renewed.pem"))

    def refused(value):
        kind = f'\ntranslation_exporter_problem{{kind="web_config_refused",severity="warning"}} {value}\n'

        def shown(exporter):
            curl(f"{exporter.url}/metrics", *CA, *ALICE)
            return kind in (tmp_path / "body").read_text()

        wait_for(f"the files are judged {value}", lambda: shown(settings) and shown(certificates))

    (tmp_path / "settings.yml").write_text("")
    (tmp_path / "renewed.pem").write_text("nothing in here\n")
    refused(1)
    for exporter in (settings, certificates):
        assert curl(f"{exporter.url}/metrics", *CA) == "401"
        assert curl(f"{exporter.url}/metrics", *CA, *ALICE) == "200"
    (tmp_path / "settings.yml").write_text(web)
    (tmp_path / "renewed.pem").write_text(good)
    refused(0)
    for log in (settings.log(), certificates.log()):
        assert "The changed web configuration file is refused; the previous one stays active" in log
        assert not re.search(r"\$2b\$|BEGIN", log)
