#!/usr/bin/env bash
# Checks the dashboards of the folder $1 against Grafana's own types with tsc; the packages are in $2/node_modules.
set -euo pipefail
folder=$1
work=$2/typecheck
rm -rf "$work"
mkdir "$work"
cp "$(dirname "${BASH_SOURCE[0]}")/dashboard.ts" "$work/"

# Prints what tsc reports about dashboard $1, which is JSON on standard input.
check() {
    { echo 'import type { Dashboard } from "./dashboard";'; echo 'export const dashboard: Dashboard ='; cat; echo ';'; } >"$work/$1.ts"
    (cd "$work" && ../node_modules/.bin/tsc --noEmit --strict --skipLibCheck --target es2022 --module commonjs \
        --moduleResolution node10 "$1.ts")
}

failed=0
for dashboard in "$folder"/*.json; do
    name=$(basename "$dashboard" .json)
    if check "$name" <"$dashboard"; then echo "$name has Grafana's types"; else failed=1; fi
done

# The check must detect these mistakes.
refuses() {
    if sed "s/$1/$2/" "$folder/translation-progress.json" | check mistaken >"$work/mistaken.log" ||
        ! grep -q "error TS.*$3" "$work/mistaken.log"; then
        echo "the typed check does not refuse $2" >&2
        failed=1
    else
        echo "refused, as it should be: $2"
    fi
}
refuses '"wideLayout"' '"wideLayuot"' wideLayuot
refuses '"colorMode": "value"' '"colorMode": "vlaue"' vlaue
refuses '"id": "custom.width"' '"id": "custom.widht"' widht
exit $failed
