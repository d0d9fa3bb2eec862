#!/usr/bin/env bash
# Makes the archive and the Debian package of the program in target/release, and lists the licences of its crates:
#
#     package.sh FOLDER [OPTION…]
#
# cargo-deb gets the options. Needs cargo-deb, cargo-about and dpkg-dev. The program is linked dynamically, so that it runs where the C
# library is as new as here.
set -euo pipefail

folder=$(realpath --canonicalize-missing "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$(cargo pkgid | sed "s/.*[#@]//")
built=${CARGO_TARGET_DIR:-target}/release about=${CARGO_TARGET_DIR:-target}/release/about
arch=$(dpkg --print-architecture)
# One timestamp for all files, so that the same program gives the same archive.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
mkdir -p "$folder"

rm -rf "$about"
cargo run --locked --quiet --example manual -- "$about"
# Debian wants them compressed; the archive has them plain.
gzip --keep --no-name -9 "$about"/*.1
cargo about generate --locked --fail --config deploy/release/about.toml --output-file "$about/third-party-licenses.txt" deploy/release/about.hbs
gzip --no-name -9 >"$about/changelog.Debian.gz" <<CHANGES
translation-exporter ($version-1) stable; urgency=medium

  * https://github.com/translation-exporter/translation-exporter/releases/tag/v$version

 -- The translation-exporter maintainers <translation-exporter@users.noreply.github.com>  $(date --utc --rfc-email --date "@$SOURCE_DATE_EPOCH")
CHANGES

cargo deb --locked --no-build --no-strip --output "$folder/" "${@:2}"

name=translation-exporter-$version.linux-$arch
staged=$(mktemp -d)
trap 'rm -rf "$staged"' EXIT
install -D -m 755 -t "$staged/$name" "$built/translation-exporter"
install -D -m 644 -t "$staged/$name" LICENSE README.md "$about/third-party-licenses.txt"
install -D -m 644 -t "$staged/$name/systemd" deploy/systemd/*
install -D -m 644 -t "$staged/$name/man" "$about"/*.1
install -D -m 644 -t "$staged/$name/completions" "$about"/*translation-exporter.{bash,fish} "$about/_translation-exporter"
tar --create --directory "$staged" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" "$name" |
    gzip --no-name -9 >"$folder/$name.tar.gz"
