#!/usr/bin/env bash
# Runs all tests: linters, `cargo test` and `pytest`, the last two at once, because both wait half of the time. Installs what is
# missing, on Debian 12 or later with Rust, git and a C compiler; tests/deploy needs root.
#
#     tests/run.sh          everything that takes seconds
#     tests/run.sh --all    the tests marked `slow` and `#[ignore]`, too: soak, fuzz, many situations; and other cases of the
#                           property tests, whose seed it prints: PROPTEST_RNG_SEED=… cargo test repeats them
#
# The last line says how many tests passed and failed; each linter counts as one test.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
# shellcheck source=tests/install.sh
. tests/install.sh || { echo "0 passed, 1 failed" && exit 1; }
ignored=() all=()
if [ "${1:-}" = --all ]; then
    ignored=(--include-ignored) all=(--all)
    export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-$RANDOM}
    echo "PROPTEST_RNG_SEED=$PROPTEST_RNG_SEED"
fi
logs=$(mktemp -d) passed=0 failed=0 broken=()
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$logs"' EXIT

# check COMMAND…: one linter, shown if it finds something.
check() {
    local begin=$SECONDS
    if "$@" >"$logs/check" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1)) broken+=("$*") && cat "$logs/check"
    fi
    echo "== $((SECONDS - begin)) s: $*"
}

# tally NAME STATUS: adds up a log of cargo or pytest. A run that failed without naming a test counts as one failure.
tally() {
    local ok bad
    grep -E '^(test result: |=+ .* in [0-9.]+s)' "$logs/$1" >"$logs/results"
    ok=$(grep -oE '[0-9]+ passed' "$logs/results" | awk '{ sum += $1 } END { print sum + 0 }')
    bad=$(grep -oE '[0-9]+ (failed|error)' "$logs/results" | awk '{ sum += $1 } END { print sum + 0 }')
    [ "$2" = 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + ok)) failed=$((failed + bad))
    mapfile -O "${#broken[@]}" -t broken < <(grep -E '^(test .* FAILED|FAILED|ERROR) ?' "$logs/$1" | sort -u)
    cat "$logs/$1" && echo "== $SECONDS s: $1"
}

check cargo fmt --all --check
check ruff check
check ruff format --check
mapfile -t scripts < <({ git ls-files '*.sh' && git grep -lE '^#!.*[/ ](ba)?sh$'; } | sort -u)
check shellcheck --external-sources --severity=warning "${scripts[@]}"
check python tests/links.py
check cargo deny --locked check licenses bans sources
check cargo clippy --locked --all-targets -- --deny warnings
RUSTDOCFLAGS="--deny warnings --allow rustdoc::private-intra-doc-links" check cargo doc --locked --no-deps --document-private-items
check cargo test --locked --no-run

# Most tests wait for something most of the time, so more of them run at once than there are cores.
RUST_TEST_THREADS=12 cargo test --locked --no-fail-fast -- "${ignored[@]}" >"$logs/cargo" 2>&1 &
pytest --numprocesses=6 --maxschedchunk=1 --durations=10 "${all[@]}" tests >"$logs/pytest" 2>&1
tally pytest $?
wait %1
tally cargo $?
[ ${#all[@]} -eq 0 ] || check tests/fuzz/fuzz.sh 120

[ ${#broken[@]} -eq 0 ] || printf '== failed: %s\n' "${broken[@]}"
echo "== $SECONDS s in all"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
