#!/usr/bin/env bash
# Checks the web configuration files of files/ with Debian's promtool: it must accept the good ones and refuse the bad ones, except
# where a file says why it does not. A unit test of src/server/web_config.rs reads the same files.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib.sh
. "$here/../lib.sh"

need_debian promtool=prometheus openssl=openssl perl=perl
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1"; }
key ca.key
openssl req -x509 -new -key ca.key -subj /CN=authority -days 2 -out ca.pem
key server.key
openssl req -x509 -new -key server.key -subj /CN=localhost -addext subjectAltName=DNS:localhost -days 2 -out server.pem
key other.key
echo "nothing in here" >none.pem
printf '%s
' '-----BEGIN PRIVATE KEY-----' AAAA '-----END PRIVATE KEY-----' >none.key
# The C library's crypt knows bcrypt.
hash=$(perl -e 'print crypt("correct", "\$2b\$04\$" . "a" x 21 . "u")')
case $hash in '$2b$04$'*) ;; *) echo "this system's crypt(3) makes no bcrypt hash: $hash" >&2; exit 1 ;; esac

failures=0 files=0 differences=0
for source in "$here"/files/*.yml; do
    name=$(basename "$source")
    files=$((files + 1))
    # The placeholders stand for what no repository should hold.
    perl -pe 'BEGIN { $hash = shift } s/\@bcrypt\@/$hash/g; if (/\@(server\.pem|server\.key|ca\.pem)\@/) {
        open my $file, "<", $1 or die; $_ = join "", map { "    $_" } <$file> }' "$hash" "$source" >"$name"
    case $name in good-*) expected=accepts ;; *) expected=refuses ;; esac
    differs=$(sed -n 's/^# promtool: \([a-z]*\).*/\1/p' "$name")
    if promtool check web-config "$name" >/dev/null 2>&1; then found=accepts; else found=refuses; fi
    if [ "$found" != "${differs:-$expected}" ] || [ "$differs" = "$expected" ]; then
        echo "FAILED $name: promtool $found it, the name says that it $expected it, and the file: ${differs:-nothing}" >&2
        failures=$((failures + 1))
    fi
    [ -z "$differs" ] || differences=$((differences + 1))
done

[ $failures -eq 0 ] || exit 1
say "promtool $(promtool --version 2>&1 | sed -n '1s/.*version \([^ ]*\).*/\1/p') agrees with the names of $files web configuration files, except $differences that say why"
