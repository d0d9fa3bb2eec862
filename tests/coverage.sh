#!/usr/bin/env bash
# Line coverage of src by the unit tests and by the tests that run the built program, except those marked #[ignore] and one that
# limits the size of files: the counters would exceed the limit.
# Prints a table of the files, with the sum last; coverage/html in the target folder has the lines.
#
#     tests/coverage.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tests/install.sh
. tests/install.sh

# The LLVM tools read only files of their own version.
llvm=$(rustc --version --verbose | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
debian "llvm-cov-$llvm=llvm-$llvm"
target=$(dirname "$tools")/coverage
export CARGO_TARGET_DIR=$target
rm -rf "$target/profiles"
mkdir -p "$target/profiles"

# Only this crate is measured. (Not sh: dash drops variables such as CARGO_BIN_EXE_translation-exporter.) Most tests end
# the program with SIGKILL, so it updates its counters in the file all the time (%c).
cat >"$target/rustc.sh" <<'END'
#!/usr/bin/env bash
exec "$@" -C instrument-coverage -C llvm-args=-runtime-counter-relocation
END
chmod +x "$target/rustc.sh"
export RUSTC_WORKSPACE_WRAPPER=$target/rustc.sh LLVM_PROFILE_FILE=$target/profiles/%p.profraw
build() { cargo test --locked --no-run --lib --bins --tests "$@"; }
build
mapfile -t tests < <(build --quiet --message-format=json |
    sed -nE 's/.*"profile":\{[^}]*"test":true.*"executable":"([^"]+)".*/\1/p')

# The tests clear the environment of the program that they start, so a wrapper in its place sets where the counters go.
program=$target/debug/translation-exporter
mv "$program" "$program.measured"
printf '#!/bin/sh\nLLVM_PROFILE_FILE="%s/profiles/%%p%%c.profraw" exec "%s.measured" "$@"\n' "$target" "$program" >"$program"
chmod +x "$program"
trap 'mv -f "$program.measured" "$program"' EXIT
status=0
for test in "${tests[@]}"; do
    echo "== $(basename "$test")"
    RUST_TEST_THREADS=6 "$test" --quiet --skip a_full_disk_is_counted || status=1
done

find "$target/profiles" -name '*.profraw' -size +0 >"$target/profiles/list"
"llvm-profdata-$llvm" merge --sparse --failure-mode=warn --input-files="$target/profiles/list" --output="$target/profiles/all.profdata"
objects=()
for object in "${tests[@]}"; do objects+=(--object "$object"); done
cover() {
    "llvm-cov-$llvm" "$@" "$program.measured" "${objects[@]}" --instr-profile="$target/profiles/all.profdata" \
        --ignore-filename-regex='/tests/|/tests\.rs$|/testing\.rs$|/registry/|/rustc/'
}
cover show --format=html --output-dir="$target/html" >/dev/null
cover report --show-region-summary=false --show-branch-summary=false
exit "$status"
