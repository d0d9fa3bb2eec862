#!/usr/bin/env bash
# Writes the version, which is the one of Cargo.toml, wherever else a file names it, and prints it.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
before='translation-exporter[:-]|--version |[?]ref=v|refs\/tags\/v|tag: |github@v|translation-exporter\/v|TRANSLATIONS_VERSION: v|default: v|app[.]kubernetes[.]io\/version: |^version: |^appVersion: '
number='[0-9]+[.][0-9]+[.][0-9]+([-+][0-9A-Za-z.]+)?'
sed -Ei "s/($before)$number/\1$version/g" README.md docs/install.md deploy/kubernetes/README.md deploy/compose/compose.yaml \
    deploy/helm/translation-exporter/{Chart.yaml,README.md} deploy/kubernetes/{base/exporter,overlays/prometheus-operator/monitoring}.yaml \
    deploy/ci/{github/action.yml,github/example.yaml,gitlab.yml,gitlab-example.yml} deploy/{systemd,kubernetes/base}/config.yaml
echo "$version"
