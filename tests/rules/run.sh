#!/usr/bin/env bash
# The alerts, the example configurations, the runbook, one alert on its whole way to a webhook, and each kind of problem
# from the built program to its alert.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=tests/lib.sh
source ../lib.sh

need_debian promtool=prometheus prometheus=prometheus amtool=prometheus-alertmanager \
    prometheus-alertmanager=prometheus-alertmanager faketime=faketime openssl=openssl
need_python python
need_npm
need_programs
deploy=$root/deploy/prometheus
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say "promtool and amtool accept the alerts and the example configurations"
promtool check rules --lint=all --lint-fatal "$deploy/alerts.yaml"
promtool check config "$deploy/prometheus.yaml"
amtool check-config "$deploy/alertmanager.yaml"

say "the editor of Prometheus 3 accepts the expressions too"
"$tools/python/bin/python" check.py expressions | node prometheus3.cjs "$tools/npm"

say "each alert says what, how severe, how much and what to do, and is tested for firing and for silence"
"$tools/python/bin/python" check.py

say "the rules fire when they should, and only then, with the target labels of the Prometheus operator"
mkdir "$work/tests"
"$tools/python/bin/python" check.py promtool "$work/tests"
# The largest first, as it takes as long as all others.
ls -S "$work/tests"/*.yaml |
    xargs -P 2 -I{} sh -c 'promtool test rules "$1" >"$1.log" 2>&1 || { cat "$1.log"; exit 255; }' _ {}
grep -L SUCCESS "$work/tests"/*.log | (! grep .)
echo "$(ls "$work/tests"/*.yaml | wc -l) rule tests passed"

say "the mixin is the files, and leaves those of others alone"
"$tools/python/bin/python" mixin.py

say "the scrape job of overlays/plain gives each account a job"
mkdir "$work/scrape"
"$tools/python/bin/python" scrape_job.py "$work/scrape"

say "Prometheus and Alertmanager deliver a stalled translation, and its resolution, from a running exporter"
mkdir "$work/delivery"
"$tools/python/bin/python" delivery.py "$program" "$fake_api" "$work/delivery"

say "each kind of problem of the built program reaches Prometheus, and its alert fires and ends"
mkdir "$work/kinds"
"$tools/python/bin/python" kinds.py "$program" "$fake_api" "$work/kinds"

say "the numbers of an account are equal in table, page, JSON, metrics, alerts and dashboards"
mkdir "$work/numbers"
"$tools/python/bin/python" numbers.py "$program" "$fake_api" "$work/numbers"
