#!/usr/bin/env bash
# Makes the archive of the chart, which pins the image of the same release:
#
#     chart.sh DIGEST FOLDER
#
# such as chart.sh sha256:… dist. Needs Helm.
set -euo pipefail

digest=$1 folder=$(realpath --canonicalize-missing "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
staged=$(mktemp -d)
trap 'rm -rf "$staged"' EXIT
cp --recursive deploy/helm/translation-exporter "$staged/"
about=$staged/translation-exporter/Chart.yaml

# Chart.yaml ends with its annotations.
printf '  translation-exporter/image-digest: %s\n' "$digest" >>"$about"
helm package "$staged/translation-exporter" --destination "$folder"
