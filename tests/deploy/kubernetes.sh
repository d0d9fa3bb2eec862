# Checks of the manifests and the chart; sourced by run.sh.
# shellcheck shell=bash

# Renders the base with these components as NAME, as a user's own overlay would.
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
        "$tools/python/bin/kubernetes-validate" --strict --quiet -k "$version" "$native"/*.yaml
    done
    echo "note: versions $(echo "$versions" | tr '\n' ' ')"
}

# The package's own validation accepts unknown fields; its TypeScript types, given the objects as literals, do not.
operator_accepts_its_objects() {
    local modules=$tools/npm/node_modules types=$work/types
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
    # The check must detect an unknown field, and nothing else.
    sed 's/"endpoints": \[{/&"no_such_field": 1, /' "$types/literals.ts" >"$types/unknown.ts"
    cd "$types"
    "$modules/.bin/tsc" --noEmit --strict --skipLibCheck --module nodenext --moduleResolution nodenext literals.ts unknown.ts | tee log || true
    grep -q "^unknown.ts.*no_such_field" log
    [ "$(grep -vc "^unknown.ts.*no_such_field" log)" = 0 ]
}

checkov_finds_nothing() {
    # All except the base and single components, which have no namespace: overlays choose it.
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
    "$deploy/kubernetes/components/prometheus-rules/generate.sh" "$work"
    local name
    for name in alerts recording-rules; do
        diff -u "$deploy/kubernetes/components/prometheus-rules/$name.yaml" "$work/$name.yaml" ||
            { echo "Run deploy/kubernetes/components/prometheus-rules/generate.sh"; return 1; }
    done
}

chart_renders_each_ci_file() {
    "$python" "$here/chart.py" render "$helm" "$chart" "$rendered"
    "$python" "$here/manifests.py" native "$rendered" "$native"
}

chart_and_overlay_are_the_same() {
    "$python" "$here/chart.py" same "$helm" "$chart" "$rendered/prometheus-operator.yaml"
}

# The README's blocks of YAML, with this tree in place of the repository's address.
readme_overlay_renders() {
    local own=$work/overlays/own
    rm -rf "$own"
    mkdir -p "$own"
    "$python" "$here/manifests.py" readme "$deploy/README.md" "$own" "$(realpath --relative-to="$own" "$root")"
    "$kubectl" kustomize "$own" >"$work/own.yaml"
    "$python" "$here/manifests.py" own "$work/own.yaml"
}
