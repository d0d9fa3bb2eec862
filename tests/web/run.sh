#!/usr/bin/env bash
# The web side of the built program, asked by curl, openssl and a real Prometheus: TLS, passwords and client certificates,
# each also refused where it should be; certificates and passwords that change under way; whether the page is valid HTML,
# whatever the names in it are; and whether axe-core finds anything in it that keeps people out.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib.sh
. "$here/../lib.sh"

need_debian prometheus=prometheus openssl=openssl curl=curl perl=perl python3=python3 jq=jq chromium=chromium
need_npm
need_programs

folder=$(mktemp -d)
pids=()
finish() {
    [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
    wait
    rm -rf "$folder"
}
trap finish EXIT
cd "$folder"

fail() {
    echo "FAILED: $*" >&2
    tail -n 20 ./*.log >&2
    exit 1
}

# eventually WHAT COMMAND…: repeats the command until it succeeds, for 30 seconds.
eventually() {
    local what=$1 end=$((SECONDS + 30))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || fail "not within 30 s: $what"
        sleep 0.1
    done
}

# start NAME ARGUMENT…: starts the program and sets $port.
start() {
    local name=$1
    shift
    "$program" "$@" --web.listen-address=127.0.0.1:0 >"$name.log" 2>&1 &
    pids+=($!)
    pid=$!
    eventually "$name listens" grep -q 'listening address=' "$name.log"
    port=$(sed -n 's/.*listening address=127.0.0.1:\([0-9]*\).*/\1/p' "$name.log")
}

# start_api NAME JQ-PROGRAM: starts the API of tests/support/program.rs, gives it the commands that the program makes, and sets $api.
start_api() {
    local input
    jq --null-input --compact-output "$2" >"$1.commands"
    mkfifo "$1.input"
    "$fake_api" <"$1.input" >"$1.answers" &
    pids+=($!)
    # The API ends when this is closed, which this script's end does.
    exec {input}>"$1.input"
    cat "$1.commands" >&"$input"
    obeyed() { [ "$(grep -c '^ok$' "$1.answers")" = "$(wc -l <"$1.commands")" ]; }
    eventually "the API has obeyed" obeyed "$1"
    api=$(head -n 1 "$1.answers")
}

# status EXPECTED CURL-ARGUMENT…: what is answered; 000 is a connection that was refused.
status() {
    local expected=$1 got
    shift
    got=$(curl --silent --output /dev/null --max-time 10 --write-out '%{http_code}' "$@" || true)
    [ "$got" = "$expected" ] || fail "expected $expected, got $got: curl $*"
}

key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1"; }

# authority NAME
authority() {
    key "$1.key"
    openssl req -x509 -new -key "$1.key" -subj "/CN=$1" -days 2 -out "$1.pem"
}

# certificate AUTHORITY NAME SUBJECT-ALTERNATIVE-NAME…: replaces both files as one who renews them would.
certificate() {
    local authority=$1 name=$2
    key "$name.key.new"
    openssl req -new -key "$name.key.new" -subj "/CN=$name" |
        openssl x509 -req -CA "$authority.pem" -CAkey "$authority.key" -CAcreateserial -days 2 \
            -extfile <(echo "subjectAltName=$3") -out "$name.pem.new" 2>/dev/null
    mv "$name.key.new" "$name.key"
    mv "$name.pem.new" "$name.pem"
}

hash() { perl -e 'print crypt($ARGV[0], "\$2b\$04\$" . "a" x 21 . "u")' "$1"; }

# web USER=PASSWORD…: the web configuration file, replaced at once.
web() {
    {
        printf '%s\n' "$tls" "basic_auth_users:"
        for user in "$@"; do printf '  %s: %s\n' "${user%%=*}" "$(hash "${user#*=}")"; done
    } >web.yml.new
    mv web.yml.new web.yml
}

authority ca
authority stranger
certificate ca server DNS:localhost,IP:127.0.0.1
certificate ca prometheus DNS:prometheus.example
certificate ca guest DNS:guest.example
certificate stranger burglar DNS:prometheus.example
tls='tls_server_config: {cert_file: server.pem, key_file: server.key}'

say "TLS and passwords"
web alice=open bob=sesame
start tls demo --web.config.file=web.yml
url=https://localhost:$port
status 200 --cacert ca.pem --user alice:open "$url/metrics"
status 200 --cacert ca.pem --user bob:sesame "$url/"
status 401 --cacert ca.pem "$url/metrics"
status 401 --cacert ca.pem --user alice:sesame "$url/metrics"
status 401 --cacert ca.pem --user carol:open "$url/"
status 401 --cacert ca.pem "$url/nothing"
status 200 --cacert ca.pem "$url/-/healthy"
eventually "ready" curl --silent --fail --cacert ca.pem "$url/-/ready"
status 000 --cacert stranger.pem --user alice:open "$url/metrics"
status 400 "http://localhost:$port/metrics"
version() { curl --silent --output /dev/null --cacert ca.pem --write-out '%{http_version}' "$@" "$url/-/healthy"; }
[ "$(version --http2)" = 2 ] || fail "no HTTP/2 over TLS"
[ "$(version --http1.1)" = 1.1 ] || fail "no HTTP/1.1 over TLS"

say "versions and suites that are refused"
# Whether a handshake succeeds; the exit code would also tell how the two ends parted.
speaks() {
    local said
    said=$(openssl s_client -connect "localhost:$tls_port" -CAfile ca.pem -verify_return_error "$@" </dev/null 2>/dev/null || true)
    grep -q '^New, TLSv1' <<<"$said"
}
tls_port=$port
speaks -tls1_3 || fail "no TLS 1.3"
speaks -tls1_2 || fail "no TLS 1.2"
! speaks -tls1_1 -cipher DEFAULT@SECLEVEL=0 || fail "TLS 1.1 is served"
! speaks -tls1_2 -cipher ECDHE-ECDSA-AES128-SHA || fail "a CBC suite is served"

say "client certificates"
tls='tls_server_config: {cert_file: server.pem, key_file: server.key, client_auth_type: RequireAndVerifyClientCert,
  client_ca_file: ca.pem, client_allowed_sans: [prometheus.example]}
http_server_config: {http2: false}'
printf '%s\n' "$tls" >mutual.yml
start mutual demo --web.config.file=mutual.yml
mutual=https://localhost:$port
status 200 --cacert ca.pem --cert prometheus.pem --key prometheus.key "$mutual/metrics"
status 000 --cacert ca.pem "$mutual/metrics"
status 000 --cacert ca.pem "$mutual/-/healthy"
status 000 --cacert ca.pem --cert guest.pem --key guest.key "$mutual/metrics"
status 000 --cacert ca.pem --cert burglar.pem --key burglar.key "$mutual/metrics"
got=$(curl --silent --output /dev/null --cacert ca.pem --cert prometheus.pem --key prometheus.key --http2 --write-out '%{http_version}' "$mutual/-/healthy")
[ "$got" = 1.1 ] || fail "HTTP/2 is served although http2 is false"

say "the five policies for client certificates, and the alias"
# policy POLICY EXPECTED-WITHOUT EXPECTED-FROM-A-STRANGER EXPECTED-FROM-THE-AUTHORITY
printf 'tls_server_config: {cert_file: server.pem, key_file: server.key}\n' >policy.yml
start policy demo --web.config.file=policy.yml
policy() {
    local before authorities='client_ca_file: ca.pem, '
    [ "$1" != NoClientCert ] || authorities=
    before=$(grep -c 'the configuration was read again' policy.log || true)
    printf 'tls_server_config: {cert_file: server.pem, key_file: server.key, %sclient_auth_type: %s}\n' "$authorities" "$1" >policy.new
    mv policy.new policy.yml
    kill -HUP "$pid"
    eventually "the reload for $1" sh -c "[ \$(grep -c 'the configuration was read again' policy.log) -gt $before ]"
    local at=https://localhost:$port/metrics
    status "$2" --cacert ca.pem "$at"
    status "$3" --cacert ca.pem --cert burglar.pem --key burglar.key "$at"
    status "$4" --cacert ca.pem --cert prometheus.pem --key prometheus.key "$at"
}
policy NoClientCert 200 200 200
policy RequestClientCert 200 200 200
policy RequireAnyClientCert 000 200 200
policy RequireClientCert 000 200 200
policy VerifyClientCertIfGiven 200 000 200
policy RequireAndVerifyClientCert 000 000 200

say "a real Prometheus"
target() { printf '    static_configs: [{targets: ["%s"]}]\n    scheme: https\n' "${1#https://}"; }
{
    printf 'global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n'
    printf '  - job_name: password\n' && target "$url"
    printf '    basic_auth: {username: alice, password: open}\n    tls_config: {ca_file: ca.pem}\n'
    printf '  - job_name: wrong-password\n' && target "$url"
    printf '    basic_auth: {username: alice, password: sesame}\n    tls_config: {ca_file: ca.pem}\n'
    printf '  - job_name: certificate\n' && target "$mutual"
    printf '    tls_config: {ca_file: ca.pem, cert_file: prometheus.pem, key_file: prometheus.key}\n'
    printf '  - job_name: wrong-certificate\n' && target "$mutual"
    printf '    tls_config: {ca_file: ca.pem, cert_file: guest.pem, key_file: guest.key}\n'
} >prometheus.yml
prometheus --config.file=prometheus.yml --storage.tsdb.path=tsdb --web.listen-address=127.0.0.1:0 >prometheus.log 2>&1 &
pids+=($!)
eventually "Prometheus listens" grep -q 'Listening on' prometheus.log
listen=$(sed -n 's/.*Listening on.*address=//p' prometheus.log)
ask() { curl --silent --get --data-urlencode "query=$1" "http://$listen/api/v1/query" | jq --raw-output '.data.result[] | .metric.job + "=" + .value[1]' | sort | paste -sd' '; }
is() { [ "$(ask "$1")" = "$2" ]; }
up='certificate=1 password=1 wrong-certificate=0 wrong-password=0'
eventually "who may scrape does, and nobody else" is up "$up"
eventually "series arrive" is 'count by (job) (translation_up)' 'certificate=1 password=1'

say "a certificate and a password that change while Prometheus scrapes"
serial() { (openssl s_client -connect "${url#https://}" </dev/null 2>/dev/null || true) | openssl x509 -noout -serial; }
old=$(serial)
changing=$SECONDS
renewed() { [ "$(serial)" != "$old" ]; }
certificate ca server DNS:localhost,IP:127.0.0.1
eventually "the new certificate is served" renewed
tls='tls_server_config: {cert_file: server.pem, key_file: server.key}'
web alice=open bob=changed
eventually "the new password is taken" curl --silent --fail --cacert ca.pem --user bob:changed "$url/metrics"
status 401 --cacert ca.pem --user bob:sesame "$url/metrics"
changed=$SECONDS
thrice() { is "count_over_time(up[$((SECONDS - changed))s]) >= bool 3" "${up//=0/=1}"; }
eventually "each job has scraped thrice since" thrice
lowest="min_over_time(up[$((SECONDS - changing + 1))s])"
is "$lowest" "$up" || fail "a scrape failed meanwhile: $(ask "$lowest")"

say "changes that are refused"
reloaded() { curl --silent --cacert ca.pem --user alice:open "$url/metrics" | grep -qx "translation_exporter_config_last_reload_successful $1"; }
cp web.yml good.yml
cp server.pem good.pem
: >web.yml
eventually "an emptied file is counted as a failed reload" reloaded 0
status 401 --cacert ca.pem "$url/metrics"
cp good.yml web.yml
eventually "the file is taken again" reloaded 1
echo "nothing in here" >server.pem
eventually "a broken certificate is counted as a failed reload" reloaded 0
speaks -tls1_3 || fail "the last good certificate is not served"
cp good.pem server.pem
eventually "the certificate is taken again" reloaded 1
grep -q 'the changed web configuration is refused' tls.log || fail "the refusal is not logged"
! grep -q '\$2b\$\|BEGIN' tls.log || fail "a secret is in the log"

say "the page is valid HTML"
start_api hostile '["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "x" * 300, "owner/\u202e\u05e2\u05d1\u05e8\u05d9\u05ea",
    "a/\u0027&amp;`{}\u0000\u0008\ufffe", "owner/plain"] as $names
    | {put: [range(6) | {id: (. + 1), name: $names[.], languages: ([range(6) | {key: $names[.], value: (12.5 * .)}] | from_entries)}]}'
echo key-of-the-black-box-tests >api.key
start hostile --api.base-url="$api" --api.key-file=api.key
eventually "the hostile names are read" curl --silent --fail "http://127.0.0.1:$port/-/ready"
all() { curl --silent "http://127.0.0.1:$port/metrics" | grep -q 'translation_completion_ratio{repo="owner/plain"'; }
eventually "the hostile names are shown" all
curl --silent "http://127.0.0.1:$port/?q=%22%3E%3Cscript%3E&sort=%3C" >search.html
curl --silent "http://127.0.0.1:$port/" >hostile.html
curl --silent --cacert ca.pem --user alice:open "$url/?sort=-name" >demo.html
# What a browser would get from this is text alone.
! grep -qi '<script\|<img' hostile.html search.html || fail "a name breaks out of its text"
cat >.htmlvalidate.json <<'JSON'
{"extends": ["html-validate:recommended", "html-validate:a11y"],
 "rules": {"long-title": "off", "no-trailing-whitespace": "off", "doctype-style": "off", "void-style": "off", "attr-quotes": "off"}}
JSON
"$tools/npm/node_modules/.bin/html-validate" --config .htmlvalidate.json hostile.html search.html demo.html >html.log || fail "the page is not valid"

say "axe-core in Chromium: 1280 and 390 px, light and dark"
# 220 repositories by 25 languages, some of which fail.
start_api many '
    {put: [range(1; 221) as $i | {id: $i, name: "owner/repository-\($i)", languages: ([range(25) | select(($i + .) % 6 > 0) |
        {key: "l\(10 + .)", value: (if . == 3 then null else ($i * 7 + . * 13) % 101 end)}] | from_entries)}]},
    {lose: [range(7; 221; 20)]}'
TRANSLATION_EXPORTER_API__REQUESTS_PER_SECOND=0 start many --api.base-url="$api" --api.key-file=api.key
eventually "the many are read" sh -c "curl --silent 'http://127.0.0.1:$port/metrics' | grep -qx 'translation_exporter_polls_total 1'"
many=http://127.0.0.1:$port
start demo demo
CHROMIUM=$(command -v chromium) node "$here/axe.mjs" "$tools/npm" "$many/" "$many/?q=nothing" "http://127.0.0.1:$port/?sort=-progress" >axe.log ||
    fail "axe-core finds violations"

say "everything above held"
