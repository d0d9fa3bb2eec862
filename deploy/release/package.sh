#!/usr/bin/env bash
# Makes the archive of a program that has been built for this machine's architecture:
#
#     package.sh PROGRAM FOLDER
set -euo pipefail

program=$(realpath "$1") folder=$(realpath --canonicalize-missing "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$(cargo pkgid | sed "s/.*[#@]//")
case $(uname -m) in
x86_64) arch=amd64 ;;
aarch64) arch=arm64 ;;
*) echo "no name for the architecture $(uname -m)" >&2 && exit 2 ;;
esac
# One timestamp for all files, so that the same program gives the same archive.
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

name=translation-exporter-$version.linux-$arch
staged=$(mktemp -d)
trap 'rm -rf "$staged"' EXIT
install -D -m 755 "$program" "$staged/$name/translation-exporter"
install -m 644 -t "$staged/$name" LICENSE
deploy/release/licences.sh >"$staged/$name/third-party-licenses.txt"
install -D -m 644 -t "$staged/$name/systemd" deploy/systemd/*
cp -p "$staged/$name/systemd/translation-exporter.service" "$staged/$name/systemd/translation-exporter@.service"
mkdir -p "$folder"
tar --create --directory "$staged" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$time" "$name" |
    gzip --no-name -9 >"$folder/$name.tar.gz"
