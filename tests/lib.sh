# Helpers for the parts of the test run; source it, do not run it.
# All installation goes through these functions, so that the tests run on a fresh Debian 12 or later with Rust.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools=${CARGO_TARGET_DIR:-$root/target}/tools
mkdir -p "$tools"
# For harness.py.
export PYTHONPATH=$root/tests PYTHONDONTWRITEBYTECODE=1

say() { printf '%s\n' "== $*"; }

# What is about to be installed: at once, also where the output of a part is shown when it has ended.
announce() { say "$*" >&"${ANNOUNCE:-1}"; }

# need_debian COMMAND=PACKAGE…: installs the packages whose command is not on the PATH.
need_debian() {
    local pair missing=()
    for pair in "$@"; do
        command -v "${pair%%=*}" >/dev/null 2>&1 || missing+=("${pair#*=}")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "This test needs these commands, and this is no Debian or Ubuntu to install them on: ${missing[*]}" >&2
        return 1
    fi
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 || { echo "Install these packages as root, then run again: ${missing[*]}" >&2; return 1; }
        as_root=(sudo)
    fi
    announce "installing Debian packages: ${missing[*]}"
    (
        exec 9>"$tools/apt.lock"
        flock 9
        "${as_root[@]}" apt-get update -qq &&
            "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
                apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    )
}

# once STAMP-FILE FILE… -- COMMAND…: runs the command unless it has succeeded with these files as they are. Whoever wants the same at
# the same time waits for it.
once() {
    local stamp=$1 files=() lock=${1#"$tools/"}
    shift
    while [ "$1" != -- ]; do files+=("$1") && shift; done
    shift
    (
        flock 8
        [ "$(cat "$stamp" 2>/dev/null)" = "$(cat "${files[@]}")" ] && exit 0
        "$@" && cat "${files[@]}" >"$stamp"
    ) 8>"$tools/${lock//\//-}.lock"
}

# need_python NAME: makes the venv $tools/NAME of requirements/NAME.txt, which names all that is installed.
need_python() {
    once "$tools/$1/.requirements" "$root/tests/requirements/$1.txt" -- install_python "$1"
}

install_python() {
    local venv=$tools/$1 list=$root/tests/requirements/$1.txt
    need_debian python3=python3 || return 1
    python3 -c 'import ensurepip, venv' 2>/dev/null || need_debian none-such=python3-venv || return 1
    announce "installing Python packages into $1: $(paste -sd' ' "$list")"
    rm -rf "$venv"
    python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$list"
}

# need_node: puts node and npm on the PATH: those installed if they can require() an ES module, which Node 20.19 and 22.12 can
# and Debian 12's cannot, else those of a wheel. Debian's npm would install some 400 packages, which takes minutes.
need_node() {
    command -v npm >/dev/null 2>&1 && node --eval 'process.exit(process.features.require_module ? 0 : 1)' 2>/dev/null && return 0
    need_python node && PATH=$tools/node/bin:$PATH
}

# need_npm [FOLDER]: installs the packages of tests/package-lock.json, or of tests/FOLDER, and nothing else, into node_modules of
# $tools/npm or $tools/npm-FOLDER.
need_npm() {
    local folder=$root/tests${1:+/$1} into=$tools/npm${1:+-$1}
    need_node && once "$into/.lock" "$folder/package-lock.json" -- install_npm "$folder" "$into"
}

install_npm() {
    announce "installing npm packages: $(sed -nE '/"overrides"/q; s/^    "(.*)": "(.*)".*/\1@\2/p' "$1/package.json" | paste -sd' ')"
    rm -rf "$2"
    mkdir -p "$2"
    cp "$1"/{package.json,package-lock.json,.npmrc} "$2"
    (cd "$2" && npm ci --loglevel=error --no-audit --no-fund --ignore-scripts)
}

# need_programs: builds what the scripts start, and copies it, as the deploy part builds another program at the same place:
# $program, the exporter, and $fake_api, of tests/support/program.rs.
need_programs() {
    local built=${CARGO_TARGET_DIR:-$root/target}/debug
    (
        flock 8
        cd "$root" && cargo build --quiet --locked --bin translation-exporter --example fake-api || exit 1
        install -D -t "$tools/programs" "$built/translation-exporter" "$built/examples/fake-api"
    ) 8>"$tools/programs.lock" || return 1
    program=$tools/programs/translation-exporter
    fake_api=$tools/programs/fake-api
}

# need_cargo PACKAGE VERSION: installs this program, unoptimised, into $tools/cargo/bin.
need_cargo() {
    local stamp=$tools/cargo/.$1-$2
    mkdir -p "$tools/cargo"
    (
        flock 8
        [ -f "$stamp" ] && exit 0
        announce "building $1 $2"
        cargo install --quiet --locked --debug --root "$tools/cargo" "$1@$2" && touch "$stamp"
    ) 8>"$tools/cargo/$1.lock"
}
