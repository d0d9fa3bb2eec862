#!/usr/bin/env bash
# Makes the archive of the chart, which pins the image of the same release:
#
#     chart.sh DIGEST FOLDER
#
# such as chart.sh sha256:… dist. Needs Helm, by the variable HELM if it has another name.
set -euo pipefail

digest=$1 folder=$(realpath --canonicalize-missing "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../helm"
staged=$(mktemp -d)
trap 'rm -rf "$staged"' EXIT
# The links in files/ lead out of the chart.
cp --recursive --dereference translation-exporter "$staged/"
printf 'annotations:\n  translation-exporter/image-digest: %s\n' "$digest" >>"$staged/translation-exporter/Chart.yaml"
"${HELM:-helm}" package "$staged/translation-exporter" --destination "$folder"
