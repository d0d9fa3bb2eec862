#!/usr/bin/env bash
# The web configuration files of files/: check-config must take the good ones and refuse the bad ones with the message
# that each expects, and Debian's promtool must agree, except where a file says why it does not.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib.sh
. "$here/../lib.sh"

need_debian promtool=prometheus openssl=openssl perl=perl
program=${TRANSLATION_EXPORTER:-}
if [ -z "$program" ]; then
    (cd "$root" && cargo build --quiet)
    program=${CARGO_TARGET_DIR:-$root/target}/debug/translation-exporter
fi

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
echo any-key >api.key
# The C library's crypt knows bcrypt.
hash=$(perl -e 'print crypt("correct", "\$2b\$04\$" . "a" x 21 . "u")')
case $hash in '$2b$04$'*) ;; *) echo "this system's crypt(3) makes no bcrypt hash: $hash" >&2; exit 1 ;; esac

# The placeholders stand for what no repository should hold.
prepare() {
    local line name
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
        *@server.pem@ | *@server.key@ | *@ca.pem@)
            name=${line#*@}
            sed 's/^/    /' "${name%@}"
            ;;
        *) printf '%s\n' "${line//@bcrypt@/$hash}" ;;
        esac
    done <"$1"
}

failures=0 files=0 differences=0
fail() { echo "FAILED $*" >&2; failures=$((failures + 1)); }

for source in "$here"/files/*.yml; do
    name=$(basename "$source")
    files=$((files + 1))
    prepare "$source" >"$name"
    expected=$(sed -n 's/^# expects: //p' "$name")
    differs=$(sed -n 's/^# promtool: //p' "$name")

    if message=$("$program" check-config --api.base-url=http://127.0.0.1:1 --api.key-file=api.key \
        --web.config.file="$name" 2>&1 >/dev/null); then ours=accepts; else ours=refuses; fi
    case $name in
    good-*) [ $ours = accepts ] || fail "$name: check-config refuses it: $message" ;;
    *)
        [ $ours = refuses ] || fail "$name: check-config accepts it"
        case $message in *"$expected"*) ;; *) fail "$name: check-config says: $message" ;; esac
        ;;
    esac

    if promtool check web-config "$name" >/dev/null 2>&1; then theirs=accepts; else theirs=refuses; fi
    if [ -z "$differs" ]; then
        [ $theirs = $ours ] || fail "$name: promtool $theirs it, check-config $ours it, and the file does not say why"
    else
        differences=$((differences + 1))
        case $differs in "$theirs"*) ;; *) fail "$name: promtool $theirs it, and the file says that it $differs" ;; esac
        [ $theirs != $ours ] || fail "$name: promtool and check-config agree, and the file says that they differ"
    fi
done

[ $failures -eq 0 ] || exit 1
say "$files web configuration files judged as expected; promtool $(promtool --version 2>&1 | sed -n '1s/.*version \([^ ]*\).*/\1/p') agrees but for $differences that say why"
