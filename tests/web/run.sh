#!/usr/bin/env bash
# Tests the web side of the built program with curl, openssl and Prometheus: TLS, passwords and client certificates, accepted
# and refused. html-validate checks the page with hostile names, and axe-core its accessibility.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=../lib.sh
source ../lib.sh

need_debian prometheus=prometheus openssl=openssl curl=curl python3=python3 chromium=chromium
need_npm
need_programs

PROGRAM=$program FAKE_API=$fake_api NODE_FOLDER=$tools/npm python3 -m unittest --verbose test_web
