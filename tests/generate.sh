#!/usr/bin/env bash
# Writes every generated file: tables in deploy/*.md, the schemas of the configuration and of the chart's values, the dashboards and
# the PrometheusRule of the overlay prometheus-operator.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
UPDATE=1 cargo test --quiet --lib generated
python3 grafana/generate
deploy/kubernetes/overlays/prometheus-operator/generate.sh
