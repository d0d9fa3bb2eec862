#!/usr/bin/env bash
# The web side of the built program, asked by curl, openssl and a real Prometheus: TLS, passwords and client certificates, each also
# refused where it should be; whether the page is valid HTML, whatever the names in it are; and whether axe-core finds anything in it
# that keeps people out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=../lib.sh
source ../lib.sh

need_debian prometheus=prometheus openssl=openssl curl=curl python3=python3 chromium=chromium
need_npm
need_programs

PROGRAM=$program FAKE_API=$fake_api NODE_FOLDER=$tools/npm python3 -m unittest --verbose test_web
