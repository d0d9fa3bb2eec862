"""The exposition as others read it: the official Python parsers, promtool, curl, Prometheus and node_exporter's textfile collector."""

import json
import subprocess

import pytest
from harness import FakeApi, address, get, running, wait_for
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics_parser

RATIO = "translation_completion_ratio"
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
# Names that expose wrong escaping.
NAMES = [
    "quotes/\"double\" 'single'", "backslash/at the end\\", "backslash/before n: \\n and twice: \\\\n", "newline/in the\nmiddle",
    "newline/at the end\n", "carriage/return\rand tab\t", 'braces/{a="b"} 1', "hash/# HELP x y", "emoji/🦀 and family 👩‍👩‍👧‍👦",
    "rtl/שלום עולם ثم العربية", "combining/e\u0301 is not é", "control/\x01\x7f\x85\u2028\ufeff", "spaces/  two at both ends  ",
]  # fmt: skip
EXPECTED = {(name, code): value for name in NAMES for code, value in ((name, 0.125), ("de", 1))}


@pytest.fixture
def odd(api, exporter):
    """An exporter that has read repositories and languages with odd names."""
    api.put(*((id, name, {name: 12.5, "de": 100}) for id, name in enumerate(NAMES, 1)))
    return exporter(api=api).wait_for_poll()


def ratios(families):
    samples = (sample for family in families for sample in family.samples if sample.name == RATIO)
    return {(sample.labels["repo"], sample.labels["language"]): sample.value for sample in samples}


def test_the_official_python_parsers_read_what_the_api_reports(odd):
    assert ratios(parser.text_string_to_metric_families(odd.get(accept="text/plain"))) == EXPECTED
    assert ratios(openmetrics_parser.text_string_to_metric_families(odd.get(accept=OPENMETRICS))) == EXPECTED


def test_promtool_accepts_the_text_and_curl_reads_a_compressed_scrape(odd):
    text = odd.get(accept="text/plain")
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    curl = ["curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "--header", f"accept: {OPENMETRICS}", f"{odd.url}/metrics"]
    unpacked = subprocess.run([*curl, "--compressed"], capture_output=True, check=True).stdout.decode()
    assert ratios(openmetrics_parser.text_string_to_metric_families(unpacked)) == EXPECTED
    packed = subprocess.run([*curl, "--header", "accept-encoding: gzip"], capture_output=True, check=True).stdout
    assert len(packed) < len(unpacked) / 2


def test_prometheus_stores_what_the_api_reports(odd, prometheus, tmp_path):
    job = {"job_name": "odd", "scrape_interval": "1s", "static_configs": [{"targets": [odd.host]}]}
    (tmp_path / "config.yml").write_text(json.dumps({"scrape_configs": [job]}))
    server = prometheus("config.yml")
    wait_for("all ratios", lambda: {(one["repo"], one["language"]): value for one, value in server.now(RATIO)} == EXPECTED)
    assert [value for _, value in server.now("up")] == [1]


def test_the_textfile_collector_of_node_exporter_exposes_what_is_printed(api, program, tmp_path):
    api.put((1, "owner/one", {"de": 50}))
    key = tmp_path / "key"
    key.write_text(FakeApi.KEY)
    command = [program, "once", "--output=text", f"--api.base-url={api.url}", f"--api.key-file={key}"]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    (tmp_path / "translations.prom").write_text(printed)
    log = tmp_path / "node-exporter.log"
    command = ["prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile", "--web.listen-address=127.0.0.1:0"]
    with running([*command, f"--collector.textfile.directory={tmp_path}"], log) as process:
        text = get(f"http://{address(process, log)}/metrics")
    assert "\nnode_textfile_scrape_error 0\n" in text
    assert f'{RATIO}{{language="de",repo="owner/one"}} 0.5\n' in text
    assert text.count("\nprocess_start_time_seconds ") == 1, "it shows only its own"
