#!/usr/bin/env bash
# What a person sees of the dashboards: Grafana's own libraries draw them in Chromium, in each of some situations. Takes five minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source ../lib.sh

need_debian prometheus=prometheus promtool=prometheus chromium=chromium
need_npm draw
need_python python
NODE_FOLDER=$tools/npm-draw PYTHONPATH=$PYTHONPATH:$root/tests/grafana exec "$tools/python/bin/python" -m unittest --verbose test_shown
