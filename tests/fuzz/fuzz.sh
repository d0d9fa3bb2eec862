#!/usr/bin/env bash
# Fuzzes all targets at the same time, for SECONDS each (default: ten minutes). Needs a C++ compiler, but no nightly Rust.
# Inputs that crash a target are kept in target/fuzz/artifacts.
#
#     tests/fuzz/fuzz.sh [SECONDS]
set -euo pipefail

seconds=${1:-600}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../../target}/fuzz
triple=$(rustc -vV | sed -n 's/^host: //p')
mkdir -p "$target/artifacts"

# The instrumentation is unstable; RUSTC_BOOTSTRAP enables it in a stable compiler.
export RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$target
instrument=(--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Ccodegen-units=1 -Copt-level=1 -Cdebug-assertions)
(cd "$here/targets" && RUSTFLAGS="${instrument[*]}" cargo build --target "$triple")

# The targets write files: a folder in memory is faster than a disk.
[ ! -d /dev/shm ] || export TMPDIR=/dev/shm
pids=()
for name in decode_page decode_languages configuration state_file; do
    mkdir -p "$target/corpus/$name"
    "$target/$triple/debug/$name" "$target/corpus/$name" "$here/corpus/$name" -max_total_time="$seconds" -max_len=8192 \
        -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$target/artifacts/$name-" >"$target/$name.log" 2>&1 &
    pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
for log in "$target"/*.log; do
    echo "== $(basename "$log" .log): $(tail -n 1 "$log")"
done
exit "$failed"
