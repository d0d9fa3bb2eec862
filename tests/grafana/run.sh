#!/usr/bin/env bash
# The dashboards: Grafana's types, lint rules, contrast, and each query asked of a real Prometheus. The part `draw` shows what a
# person sees of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../lib.sh

need_debian prometheus=prometheus promtool=prometheus
need_npm
need_python python
need_programs

say "the dashboards have the types of two releases of Grafana"
./typecheck.sh "$root/grafana/dashboards" "$tools/npm"

say "form, links, lint rules, contrast, provisioning, metrics, queries"
PROGRAM=$program "$tools/python/bin/python" -m unittest test_dashboards test_live test_totals
