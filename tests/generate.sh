#!/usr/bin/env bash
# Writes every generated file: tables in docs/*.md, the schemas of the configuration and of the chart's values, the fuzzer's state file,
# the chart's copies of rules and dashboards, and the Kubernetes manifests, which need the Helm that tests/install.sh installs.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=${CARGO_TARGET_DIR:-$PWD/target}/tools/bin:$PATH
UPDATE=1 cargo test --quiet --lib generated
files=deploy/helm/translation-exporter/files
rm -rf "$files"
install -D -m 644 -t "$files/rules" deploy/prometheus/alerts.yaml
install -D -m 644 -t "$files/dashboards" grafana/dashboards/*.json
deploy/kubernetes/generate.sh
