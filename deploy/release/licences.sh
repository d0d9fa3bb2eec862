#!/usr/bin/env bash
# Prints the licences of the crates that the program contains, each text once, from the sources that cargo has unpacked for the build,
# then those of Rust's standard library and of musl, which Debian's package musl has. Crates of tests and build scripts are not listed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

texts=$(mktemp -d)
trap 'rm -rf "$texts"' EXIT
echo "The program contains these crates, under these licences:"
echo
cargo tree --locked --edges normal --prefix none --format '{p}|{l}' | sed 's, (\*)$,,' | sort -u | while IFS='|' read -r package licence; do
    read -r name version _ <<<"$package"
    [ "$name" != translation-exporter ] || continue
    echo "$name ${version#v}: $licence"
    find "${CARGO_HOME:-$HOME/.cargo}/registry/src"/*/"$name-${version#v}" -maxdepth 1 -type f \
        -regextype egrep -iregex '.*/(LICEN[CS]E|COPYING|NOTICE|UNLICENSE)[^/]*' | while read -r file; do
        sum=$(sha256sum <"$file" | cut -c 1-64)
        cp "$file" "$texts/$sum"
        echo "$name ${version#v}" >>"$texts/$sum.crates"
    done
done
for crates in "$texts"/*.crates; do
    printf '\n%s\n' ================================================================================
    sort -u "$crates" | paste -sd, - | sed 's/,/, /g'
    printf '\n' && cat "${crates%.crates}"
done

printf '\n%s\nThe standard library of Rust\n\n' ================================================================================
sed -E 's/<[^>]*>//g; s/&#60;|&lt;/</g; s/&#62;|&gt;/>/g; s/&#34;|&quot;/"/g; s/&#39;/'\''/g; s/&#38;|&amp;/\&/g' "$(rustc --print sysroot)/share/doc/rust/COPYRIGHT-library.html" | cat -s
printf '\n%s\nmusl\n\n' ================================================================================
cat /usr/share/doc/musl/copyright
