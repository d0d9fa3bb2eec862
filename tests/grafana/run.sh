#!/usr/bin/env bash
# The dashboards: Grafana's types, lint rules, and data on a real Prometheus that scrapes the demo. Takes about a minute once the tools and the program are there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../lib.sh

need_debian prometheus=prometheus
# The versions of @grafana packages are that of the Grafana in deploy/compose.
need_npm grafana-npm @grafana/schema@12.1.0 @grafana/data@12.1.0 typescript@5.9.3
need_python grafana promql-parser==0.11.0 PyYAML==6.0.3 prometheus_client==0.26.0 jsonnet==0.22.0

say "the dashboards have Grafana's own types"
./typecheck.sh "$root/grafana/dashboards" "$tools/grafana-npm"

say "form, links, folding, lint rules, provisioning"
export PYTHONDONTWRITEBYTECODE=1
"$tools/grafana/bin/python" -m unittest test_dashboards

say "every query, figure and table on a Prometheus, and the figures from the answers of the demo API itself"
(cd "$root" && cargo build --quiet)
PROGRAM=${CARGO_TARGET_DIR:-$root/target}/debug/translation-exporter NODE_FOLDER=$tools/grafana-npm \
    "$tools/grafana/bin/python" -m unittest --verbose test_live
