#!/usr/bin/env bash
# Builds the images for all platforms from compiled programs, laid out as FOLDER/amd64/image and FOLDER/arm64/image:
#
#     image.sh FOLDER NAME VERSION REVISION CREATED
#
# NAME and NAME-alpine are the manifest lists in buildah's storage, which BUILDAH may name: BUILDAH="buildah --root …".
set -euo pipefail

folder=$(realpath "$1") name=$2
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for arch in amd64 arm64; do
    install -D -m 644 -t "$folder/$arch/image/etc/ssl/certs" /etc/ssl/certs/ca-certificates.crt
    mkdir -p "$folder/$arch/image/var/lib" "$folder/$arch/state"
done
# Docker's format has a health check, and OCI's has none.
build=(bud --format docker --platform "linux/amd64,linux/arm64" --build-context "build=$folder" --file deploy/container/Dockerfile
    --ignorefile deploy/container/Dockerfile.dockerignore --build-arg "VERSION=$3" --build-arg "REVISION=$4" --build-arg "CREATED=$5")
# shellcheck disable=SC2086 # a command with its options
for variant in "" -alpine; do
    ${BUILDAH:-buildah} "${build[@]}" --target "exporter$variant" --manifest "$name$variant" .
done
