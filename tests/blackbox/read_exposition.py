"""Reads a scrape with the official Python client's parsers and prints its samples, a JSON object a line.

usage: read_exposition.py openmetrics|text < SCRAPE
"""

import json
import sys

from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics_parser

parse = {
    "openmetrics": openmetrics_parser.text_string_to_metric_families,
    "text": parser.text_string_to_metric_families,
}[sys.argv[1]]

sys.stdin.reconfigure(encoding="utf-8", newline="")
for family in parse(sys.stdin.read()):
    for sample in family.samples:
        print(json.dumps({"name": sample.name, "labels": sample.labels, "value": sample.value}))
