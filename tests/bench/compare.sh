#!/usr/bin/env bash
# Compares the exporter with a Python exporter of the same series and with a bare loop of requests. Prints the figures
# as tables; takes some minutes on an idle machine.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
cd "$root"

need_python python
say "building the exporter and the tools in release mode"
cargo build --release --locked --quiet --bin translation-exporter --example bench-tool
release=${CARGO_TARGET_DIR:-$root/target}/release
exec "$tools/python/bin/python" tests/bench/compare.py "$release/translation-exporter" "$release/examples/bench-tool" "$@"
