#!/usr/bin/env bash
# Tests everything under deploy/, as far as one machine without a cluster can. Must run as root, for the sandboxes.
# Usage: run.sh [WORD…]; with words, it runs only the checks whose names contain one of them, and those that others build upon.
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
    # In a child, as `set -e` is off in a function whose result is tested.
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

# shellcheck source=tests/deploy/tools.sh
. "$here/tools.sh"
# shellcheck source=tests/deploy/kubernetes.sh
. "$here/kubernetes.sh"
# shellcheck source=tests/deploy/container.sh
. "$here/container.sh"
# shellcheck source=tests/deploy/compose.sh
. "$here/compose.sh"
# shellcheck source=tests/deploy/debian.sh
. "$here/debian.sh"

if [ "$(id -u)" -ne 0 ]; then
    echo "This test must be run as root: it makes sandboxes with another root folder, user and network." >&2
    exit 1
fi
mkdir -p "$work"
rendered=$work/rendered native=$work/native stage=$work/stage image_root=$work/image-root packages=$work/packages
case $(uname -m) in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; *) arch=$(uname -m) ;; esac
program=$stage/$arch/image/usr/bin/translation-exporter
chart=$deploy/helm/translation-exporter
suites=(bookworm trixie)
# Renderings.
pods=(base demo chart-no-persistence chart-openshift chart-tls chart-client-certificates)
get_tools
rm -rf "$rendered" "$native" "$work/overlays"
mkdir -p "$rendered" "$native"
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml" | head -1)

check "kubectl kustomize renders the base and the overlays" kustomize_renders_everything
check "helm lints and renders the chart with each of its ci files" "$python" "$here/chart.py" render "$helm" "$chart" "$rendered"
check "the renderings are split into Kubernetes' own objects and those of CRDs" manifests_are_split
check "the Dockerfile's inputs build a static program" dockerfile_inputs_build_a_static_program
check "buildah builds the final stage: one program, no shell, nothing writable" buildah_builds_the_final_stage
only=("$@")
[[ $# -gt 0 && " $* " != *pod* ]] || start_pods
check "hadolint finds nothing in the Dockerfile, and workflows build on the same image" hadolint_finds_nothing
check "kubernetes-validate --strict accepts every object" kubernetes_accepts_every_object
check "ServiceMonitor, PrometheusRules and HTTPRoutes fit the schemas and types of their CRDs" crds_accept_their_objects
check "checkov finds nothing, except what has a reason" checkov_finds_nothing
check "one replica each, the key is a file, and namespaces are restricted" "$python" "$here/manifests.py" kept "$rendered"
check "every reference in the manifests leads somewhere" "$python" "$here/manifests.py" wired "$rendered"
check "every dashboard arrives unchanged in a ConfigMap" "$python" "$here/manifests.py" dashboards "$rendered" "$root/grafana/dashboards"
check "one version everywhere" one_version_everywhere
check "the overlays of deploy/kubernetes/README.md need no edit of this tree" readme_overlays_render
check "every value of the chart shows in its objects" "$python" "$here/chart.py" changes "$helm" "$chart"
check "the chart refuses wrong values and names them" "$python" "$here/chart.py" refuses "$helm" "$chart"
check "the chart does without values that are null or new, or names them" "$python" "$here/chart.py" lacks "$helm" "$chart"
check "the chart takes a release name of any length, and leaves the user to the cluster" "$python" "$here/chart.py" names "$helm" "$chart"
check "a changed configuration rolls the chart's pod, and an upgrade is possible" "$python" "$here/chart.py" rolls "$helm" "$chart"
check "the chart's alerts can be changed, and its own job is missed" "$python" "$here/chart.py" alerts "$helm" "$chart"
check "the packaged chart holds all files, pins its image and renders as a dependency" \
    "$python" "$here/chart.py" packaged "$helm" "$chart" "$work/chart" "$deploy/release/chart.sh"
check "the chart's notes name what is missing" "$python" "$here/chart.py" notes "$helm" "$chart"
check "helm test asks the exporter through its Service, as restricted as it" "$python" "$here/chart.py" tested "$helm" "$chart" "$program"
check "the weekly digest is posted as it was written" "$python" "$here/chart.py" digest "$helm" "$chart"
check "the chart accepts the values in its README" "$python" "$here/chart.py" readme "$helm" "$chart"
check "page, search and every link work under a sub-path behind nginx" \
    "$python" "$here/subpath.py" "$program" "$fake_api" "$chart/README.md" "$work/sub-path"
check "Alertmanager delivers the messages of notifications.tmpl as its examples say" \
    "$python" "$here/messages.py" "$deploy/prometheus" "$work/messages"
check "compose files are valid and mount what exists" compose_files_are_valid
check "compose gives Prometheus and Alertmanager valid configurations" compose_configurations_are_valid
check "the program accepts compose's command for an account" compose_commands_are_understood
check "the steps of the action and of GitLab's template gate, show and verify" \
    "$python" "$here/ci.py" "$program" "$fake_api" "$deploy/ci" "$work/ci"
check "workflows, action, GitLab's template and dependabot.yml fit their schemas, and zizmor finds nothing" workflows_are_valid
check "the crate that a release publishes holds the program alone, and builds" crate_is_complete
check "links of the documents lead somewhere" python3 "$root/tests/links.py"
check "archive and package hold the image's program, man page and completions" package_is_made
for suite in "${suites[@]}"; do
    check "the package is installed, upgraded, removed and purged in a clean $suite, whose systemd accepts the units" \
        package_is_installed_upgraded_and_purged "$suite"
done
check "the unit keeps its contract: notify, reload, credentials, a rotated key, TLS" unit_keeps_its_contract
check "system calls pass the unit's filter" system_calls_pass_the_filter
for pod in "${pods[@]}"; do
    check "pod $pod keeps its contract" pod_keeps_its_contract "$pod"
done

echo "deploy: $passed passed, $failed failed"
[ $failed -eq 0 ]
