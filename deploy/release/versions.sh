#!/usr/bin/env bash
# Fails unless everything that names the project's version, and the tag of a release, names the same one.
# Usage: versions.sh [TAG], such as v0.1.0
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
wrong=0

# is PLACE FOUND…: each word that was found there is the version, and there is one at least.
is() {
    local place=$1 found
    shift
    [ $# -gt 0 ] || { echo "$place names no version" >&2; wrong=1; }
    for found in "$@"; do
        [ "$found" = "$version" ] || { echo "$place names version $found, and Cargo.toml $version" >&2; wrong=1; }
    done
}

# Every version by which a file names something of this project: image, chart, package, tag.
named_in() {
    grep -oE '(translation-exporter[:_]|--version |[?]ref=v|refs/tags/v|tag: )[0-9]+[.][0-9]+[.][0-9]+([-+][0-9A-Za-z.]*[A-Za-z][0-9A-Za-z.]*)?' "$1" |
        grep -oE '[0-9]+[.].*$'
}

[ $# -eq 0 ] || is "the tag" "${1#v}"
chart=deploy/helm/translation-exporter
mapfile -t found < <(sed -nE 's/^(version|appVersion): "?([^"]*)"?$/\2/p' "$chart/Chart.yaml")
is "$chart/Chart.yaml" "${found[@]}"
mapfile -t found < <(sed -n 's/^ *newTag: //p' deploy/kubernetes/base/kustomization.yaml)
is deploy/kubernetes/base "${found[@]}"
mapfile -t found < <(sed -n 's/^ *app.kubernetes.io\/version: //p' deploy/kubernetes/components/labels/kustomization.yaml)
is deploy/kubernetes/components/labels "${found[@]}"
mapfile -t found < <(sed -n 's/^ARG VERSION=//p' deploy/container/Dockerfile)
is deploy/container/Dockerfile "${found[@]}"
mapfile -t found < <(named_in deploy/compose/compose.yaml)
is deploy/compose/compose.yaml "${found[@]}"
for file in deploy/README.md "$chart/README.md"; do
    mapfile -t found < <(named_in "$file")
    is "$file" "${found[@]}"
done
[ $wrong -eq 0 ] || exit 1
echo "$version"
