#!/usr/bin/env bash
# Builds the archive and the Debian package from a static program for a target, and lays the program out for the image:
#
#     package.sh TARGET FOLDER [OPTION…]
#
# such as package.sh x86_64-unknown-linux-gnu dist. Needs cargo-deb, which gets the options. FOLDER/image replaces the build
# stage of the Dockerfile.
set -euo pipefail

target=$1 folder=$(realpath --canonicalize-missing "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$(cargo pkgid | sed "s/.*[#@]//")
built=${CARGO_TARGET_DIR:-target}/$target/release
case $target in
x86_64-*) arch=amd64 ;;
aarch64-*) arch=arm64 ;;
*) echo "no name for the architecture of $target" >&2 && exit 2 ;;
esac
# One timestamp for all files, so that the same program gives the same archive.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
mkdir -p "$folder"

rm -rf "$built/manual"
cargo run --locked --quiet --example manual -- "$built/manual"
# Debian wants them compressed; the archive has them plain.
gzip --keep --no-name -9 "$built"/manual/*.1

cargo deb --locked --no-build --no-strip --target "$target" --output "$folder/" "${@:3}"

name=translation-exporter-$version.linux-$arch
staged=$(mktemp -d)
trap 'rm -rf "$staged"' EXIT
install -D -m 755 -t "$staged/$name" "$built/translation-exporter"
install -D -m 644 -t "$staged/$name" LICENSE README.md
install -D -m 644 -t "$staged/$name/systemd" deploy/systemd/*
install -D -m 644 -t "$staged/$name/man" "$built"/manual/*.1
install -D -m 644 -t "$staged/$name/completions" "$built"/manual/*translation-exporter.{bash,fish} "$built/manual/_translation-exporter"
tar --create --directory "$staged" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" "$name" |
    gzip --no-name -9 >"$folder/$name.tar.gz"

install -D -m 755 -t "$folder/image/$arch/image/usr/bin" "$built/translation-exporter"
