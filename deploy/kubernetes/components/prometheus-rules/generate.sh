#!/usr/bin/env bash
# Makes a PrometheusRule of each rule file of deploy/prometheus: the same groups, comments and all, under a CRD's head.
# Usage: generate.sh [FOLDER], which is this script's own unless given.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rules=$here/../../../prometheus
into=${1:-$here}

for name in alerts recording-rules; do
    {
        cat <<HEAD
# Made by generate.sh from deploy/prometheus/$name.yaml; edit that one.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: translation-exporter-$name
  labels:
    app.kubernetes.io/name: translation-exporter
    app.kubernetes.io/component: exporter
spec:
HEAD
        # Blank lines stay blank; every other line moves below spec.
        sed 's/^\(.\)/  \1/' "$rules/$name.yaml"
    } >"$into/$name.yaml"
done
