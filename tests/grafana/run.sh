#!/usr/bin/env bash
# The dashboards: Grafana's types, lint rules, and data on a real Prometheus. Takes about a minute once the tools and the program are built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../lib.sh

need_debian prometheus=prometheus
need_npm
need_python python
need_programs

say "the dashboards have Grafana's own types"
./typecheck.sh "$root/grafana/dashboards" "$tools/npm"

say "form, links, lint rules, provisioning"
"$tools/python/bin/python" -m unittest test_dashboards

say "every query, figure and table on a Prometheus"
PROGRAM=$program FAKE_API=$fake_api NODE_FOLDER=$tools/npm \
    "$tools/python/bin/python" -m unittest --verbose test_live
