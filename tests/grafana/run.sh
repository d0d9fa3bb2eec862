#!/usr/bin/env bash
# The dashboards: Grafana's types, lint rules, and what a person sees. Takes about a minute once the tools and the program are built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../lib.sh

need_debian prometheus=prometheus promtool=prometheus chromium=chromium
need_npm
need_python python
need_programs

say "the dashboards have the types of two releases of Grafana"
./typecheck.sh "$root/grafana/dashboards" "$tools/npm"

say "form, links, lint rules, provisioning, metrics"
PROGRAM=$program "$tools/python/bin/python" -m unittest test_dashboards test_live test_totals

say "what Grafana's libraries draw of a Prometheus"
NODE_FOLDER=$tools/npm "$tools/python/bin/python" -m unittest --verbose test_shown
