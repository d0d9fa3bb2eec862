# Checks of the manifests and the chart; sourced by run.sh.
# shellcheck shell=bash

kustomize_renders_everything() {
    local folder
    for folder in "$deploy"/kubernetes/base "$deploy"/kubernetes/overlays/*; do
        "$kubectl" kustomize "$folder" >"$rendered/$(basename "$folder").yaml"
    done
}

manifests_are_split() {
    "$python" "$here/manifests.py" native "$rendered" "$native"
    echo "note: $(find "$rendered" -name '*.yaml' | wc -l) renderings, $(cat "$rendered"/*.yaml | grep -c '^kind:') objects"
}

# By the oldest and the newest version that there are schemas of, from the oldest that the chart allows.
kubernetes_accepts_every_object() {
    local version versions
    versions=$("$python" -c 'from kubernetes_validate import utils; known = sorted({int(v.split(".")[1]) for v in utils.all_versions()} - set(range(29))); print(*(f"1.{v}" for v in (known[0], known[-1])))')
    for version in $versions; do
        "$tools/python/bin/kubernetes-validate" --strict --quiet -k "$version" "$native"/*.yaml
    done
    echo "note: versions $versions"
}

# The packages' own validation accepts unknown fields; their TypeScript types, given the objects as literals, do not.
crds_accept_their_objects() {
    local modules=$tools/npm/node_modules types=$work/types
    rm -rf "$types"
    mkdir -p "$types"
    ln -s "$modules" "$types/node_modules"
    cat >"$types/validate.mjs" <<'JS'
import { readFileSync } from "node:fs";
import { HTTPRoute } from "@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute";
import { PrometheusRule } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor";
const kinds = { HTTPRoute, PrometheusRule, ServiceMonitor };
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
operator = "prometheus-operator/monitoring.coreos.com/v1"
packages = {"HTTPRoute": "gateway-api/gateway.networking.k8s.io/v1", "PrometheusRule": operator, "ServiceMonitor": operator}
lines = [f'import type {{ I{kind} }} from "@kubernetes-models/{package}/{kind}";' for kind, package in packages.items()]
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
    "$tools/checkov/bin/checkov" --config-file "$here/checkov.yaml" --directory "$native" --quiet 2>"$work/checkov-errors" | tee "$work/checkov-result"
    grep -q '^Passed checks: [1-9][0-9]*, Failed checks: 0,' "$work/checkov-result"
    sed -n 's/^Passed checks/note: &/p' "$work/checkov-result"
}

rules_are_those_of_prometheus() {
    local overlay=$deploy/kubernetes/overlays/prometheus-operator
    "$overlay/generate.sh" "$work"
    diff -u "$overlay/alerts.yaml" "$work/alerts.yaml" || { echo "Run $overlay/generate.sh"; return 1; }
}

# The README's blocks of YAML.
readme_overlays_render() {
    local into=$work/overlays name
    rm -rf "$into"
    "$python" "$here/manifests.py" readme "$deploy/kubernetes/README.md" "$into" "$(realpath --relative-to="$into/own" --canonicalize-missing "$root")"
    for name in own second; do
        "$kubectl" kustomize "$into/$name" >"$work/$name.yaml"
    done
    "$python" "$here/manifests.py" own "$work/own.yaml" "$work/second.yaml"
}
