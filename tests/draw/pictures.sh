#!/usr/bin/env bash
# Makes the pictures of the dashboards in .github/pictures: see pictures.py.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../lib.sh
need_debian prometheus=prometheus chromium=chromium
need_npm draw
need_python python
need_programs
PROGRAM=$program NODE_FOLDER=$tools/npm-draw PYTHONPATH=$PYTHONPATH:$root/tests/grafana exec "$tools/python/bin/python" pictures.py "$@"
