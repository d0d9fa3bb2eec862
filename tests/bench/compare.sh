#!/usr/bin/env bash
# Measures the exporter, and compares its polls with a bare loop of requests. Prints the figures as tables; takes some minutes on an idle
# machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/install.sh
. tests/install.sh

echo "== building the exporter and the tools in release mode"
cargo build --release --locked --quiet --bin translation-exporter --example bench-tool --example fake-api
release=${CARGO_TARGET_DIR:-$PWD/target}/release
exec env PYTHONPATH=tests python tests/bench/compare.py "$release/translation-exporter" "$release/examples/"{bench-tool,fake-api} "$@"
