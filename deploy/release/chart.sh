#!/usr/bin/env bash
# Makes the archive of the chart, which pins the image of the same release:
#
#     chart.sh DIGEST FOLDER
#
# such as chart.sh sha256:… dist. Needs Helm, by the variable HELM if it has another name.
set -euo pipefail

digest=$1 folder=$(realpath --canonicalize-missing "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
staged=$(mktemp -d)
trap 'rm -rf "$staged"' EXIT
# The links in files/ lead out of the chart.
cp --recursive --dereference deploy/helm/translation-exporter "$staged/"
about=$staged/translation-exporter/Chart.yaml
version=$(sed -n 's/^version: //p' "$about")

# The changelog's entries of this version, or of those not released, that begin with "Chart:", as Artifact Hub shows them.
changes() {
    awk -v version="$version" '
        function flush() {
            if (entry != "") { gsub(/\\/, "\\\\", entry); gsub(/"/, "\\\"", entry); printf "    - {kind: %s, description: \"%s\"}\n", kind, entry }
            entry = ""
        }
        /^## / { flush(); wanted = index($0, "[" version "]") || index($0, "[Unreleased]") }
        /^### / { flush(); kind = tolower($2) }
        /^- / { flush(); if (wanted && /^- Chart: /) entry = toupper(substr($0, 10, 1)) substr($0, 11) }
        /^  [^ ]/ && entry != "" { entry = entry " " substr($0, 3) }
        END { flush() }
    ' .github/CHANGELOG.md
}

# Chart.yaml ends with its annotations.
{
    printf '  translation-exporter/image-digest: %s\n' "$digest"
    printf '  artifacthub.io/changes: |\n'
    changes
} >>"$about"
"${HELM:-helm}" package "$staged/translation-exporter" --destination "$folder"
