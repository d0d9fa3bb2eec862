#!/usr/bin/env bash
# Checks the dashboards of the folder $1 with tsc against the types of two releases of Grafana; the packages are in $2/node_modules.
set -euo pipefail
folder=$1
work=$2/typecheck
types=$(dirname "${BASH_SOURCE[0]}")/dashboard.ts

# Makes $1.ts of the dashboard on standard input.
typed() {
    { echo 'import type { Dashboard } from "./dashboard";'; echo 'export const dashboard: Dashboard ='; cat; echo ';'; } >"$work/$1.ts"
}
check() {
    (cd "$work" && ../node_modules/.bin/tsc --noEmit --strict --skipLibCheck --target es2022 --module commonjs --moduleResolution node10 "$@")
}
# The check must detect these mistakes.
mistakes=('"wideLayout"/"wideLayuot"' '"colorMode": "value"/"colorMode": "vlaue"' '"id": "custom.width"/"id": "custom.widht"')
for schema in @grafana/schema grafana-schema-12; do
    rm -rf "$work"
    mkdir "$work"
    sed "s#\"@grafana/schema#\"$schema#" "$types" >"$work/dashboard.ts"
    for dashboard in "$folder"/*.json; do typed "$(basename "$dashboard" .json)" <"$dashboard"; done
    check "$work"/translation-*.ts
    for at in "${!mistakes[@]}"; do sed "s/${mistakes[at]}/" "$folder/translation-progress.json" | typed "mistaken-$at"; done
    check "$work"/mistaken-*.ts >"$work/log" || true
    for at in "${!mistakes[@]}"; do
        grep -q "mistaken-$at.ts.*error TS" "$work/log" || { echo "the typed check accepts ${mistakes[at]#*/}" >&2; exit 1; }
    done
done
