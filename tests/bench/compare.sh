#!/usr/bin/env bash
# The exporter beside what it could be: a Python exporter of the same series, and a bare loop of requests. Prints one
# table of figures from one run; takes some minutes of an idle machine.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
cd "$root"

need_python python
say "building the exporter and the tools as they are released"
cargo build --release --locked --quiet --bin translation-exporter --example bench-tool
release=${CARGO_TARGET_DIR:-$root/target}/release
exec "$tools/python/bin/python" tests/bench/compare.py "$release/translation-exporter" "$release/examples/bench-tool" "$@"
