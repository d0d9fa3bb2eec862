#!/usr/bin/env bash
# Writes the version of Cargo.toml wherever another file names it, and prints it:
#
#     version.sh [NEW]
#
# With NEW, such as 0.2.0, first sets that version, and begins its section of the changelog, which becomes the notes of the release.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ $# -gt 0 ]; then
    sed -i "0,/^version = .*/s//version = \"$1\"/" Cargo.toml
    sed -i "/^name = \"translation-exporter\"\$/{n;s/.*/version = \"$1\"/}" Cargo.lock
    sed -i "s/^## \[Unreleased\]\$/&\n\n## [$1] - $(date --utc +%F)/" CHANGELOG.md
fi
new=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
old=$(sed -n 's/^version: //p' deploy/helm/translation-exporter/Chart.yaml)
grep -rlIFZ "$old" README.md docs deploy |
    xargs --null --no-run-if-empty sed -Ei "s/(^|[^0-9.])${old//./[.]}([^0-9.]|[.][^0-9]|\$)/\1$new\2/g"
echo "$new"
