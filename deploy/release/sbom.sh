#!/usr/bin/env bash
# Lists the crates of the program for a target, with versions, checksums and licences, as CycloneDX:
#
#     sbom.sh TARGET FOLDER
#
# such as sbom.sh x86_64-unknown-linux-gnu dist. Needs cargo-cyclonedx. Crates of tests and build scripts are not listed.
set -euo pipefail

target=$1 folder=$(realpath --canonicalize-missing "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$(cargo pkgid | sed "s/.*[#@]//")
case $target in
x86_64-*) arch=amd64 ;;
aarch64-*) arch=arm64 ;;
*) echo "no name for the architecture of $target" >&2 && exit 2 ;;
esac
mkdir -p "$folder"
# It writes beside Cargo.toml. The same commit gives the same list.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} cargo cyclonedx --quiet --format json --spec-version 1.5 --target "$target" \
    --no-build-deps --override-filename sbom
mv sbom.json "$folder/translation-exporter-$version.linux-$arch.cdx.json"
