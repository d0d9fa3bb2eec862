#!/usr/bin/env bash
# Stands for the command by whose name it is called, where that is not here, would not end, or would leave this machine: checks the
# files and names that the command line names, and does as much of its work as is possible here. $PROGRAM is the exporter, $TREE a copy
# of this repository, $ROOT the folder that stands for /.
set -euo pipefail

name=$(basename "$0")
export PATH=${PATH#*:}
fails() { echo "$name: $*" >&2 && exit 9; }
# begins ADDRESS COMMAND…: starts a server, and waits until it answers.
begins() {
    local address=$1 pid=${1//[:\/?]/-}
    pid=$ROOT/$pid
    shift
    [ ! -e "$pid" ] || kill "$(<"$pid")" || true
    while curl --silent --output /dev/null "http://$address"; do sleep 0.1; done
    "$@" >>"$ROOT/log" 2>&1 &
    echo $! >"$pid"
    for _ in {1..600}; do
        if curl --silent --output /dev/null "http://$address"; then return; fi
        kill -0 $! 2>/dev/null || fails "it ended: $(tail -5 "$ROOT/log")"
        sleep 0.1
    done
    fails "$address does not answer: $(tail -5 "$ROOT/log")"
}
# inside ARGUMENTS…: the command within a container, after the name of its image, pod or service.
inside() {
    while [ $# -gt 0 ] && [ "$1" != /usr/bin/translation-exporter ]; do shift; done
    shift && "$PROGRAM" "$@"
}

case $name in
translation-exporter)
    case " $* " in
    *" once "* | *" check-config "*) exec "$PROGRAM" "$@" ;;
    esac
    begins 127.0.0.1:10018 "$PROGRAM" "$@"
    ;;
prometheus) begins 127.0.0.1:9090 prometheus "$@" ;;
alertmanager)
    begins 127.0.0.1:9093 "$(command -v prometheus-alertmanager)" "$@" --cluster.listen-address=
    ;;
cargo)
    # It has compiled the program already.
    case $1 in
    run) shift 2 && begins 127.0.0.1:10018 "$PROGRAM" "$@" ;;
    test | doc) [ -e Cargo.toml ] ;;
    install) [ -e "${*: -1}/Cargo.toml" ] && [[ $* == *--locked* ]] ;;
    esac
    ;;
kubectl)
    case " $* " in
    *" apply -k "*) kubectl kustomize "${*: -1}" >/dev/null ;;
    *" apply -f - "*) grep -q '^kind: ' ;;
    *" create "*) kubectl "$@" --dry-run=client --output=yaml ;;
    *" port-forward "*) begins 127.0.0.1:10018 "$PROGRAM" demo ;;
    *" exec "*) inside "$@" ;;
    *" get secret "*) base64 "$ROOT/tls.crt" ;;
    *) fails "$*" ;;
    esac
    ;;
helm)
    [ "$1" != install ] || set -- template "${@:2}"
    helm "$@" >"$ROOT/rendered"
    # Without a release, only an image that was pushed before exists.
    image=$(sed -n 's/^ *image: "\(.*\)"$/\1/p' "$ROOT/rendered")
    [[ "$*" == *"/released "* ]] || [ -z "$image" ] || grep -qxF "$image" "$ROOT/pushed" || fails "there is no image $image"
    cat "$ROOT/rendered"
    ;;
docker)
    case $1 in
    run)
        while [[ $1 != *ghcr.io/* ]]; do shift; done
        "$PROGRAM" check-config "${@:2}"
        ;;
    build) [ -e "$(sed -n 's/.*--file \(\S*\).*/\1/p' <<<"$*")" ] && [[ $* == *"--tag translation-exporter "* ]] ;;
    tag) [ "$2" = translation-exporter ] ;;
    push) echo "$2" >>"$ROOT/pushed" ;;
    compose)
        case " $* " in
        *" exec "*) inside "$@" ;;
        *" up "*) for file in $(grep -oE '[^ ]+[.]yaml' <<<"$*"); do [ -e "$file" ] || fails "no $file"; done ;;
        esac
        ;;
    esac
    ;;
systemctl)
    unit=${*: -1}
    folder=$ROOT/etc/$unit
    [ "$1" = restart ] || [ -e "$ROOT/etc/systemd/system/$unit.service" ] || [ -e "$ROOT/etc/systemd/system/${unit%@*}@.service" ] || fails "no unit $unit"
    "$PROGRAM" check-config "--config.file=$folder/config.yaml" "--api.key-file=$folder/api-key" >/dev/null
    ;;
gh)
    case "$1 $2" in
    "release download") cp "$ROOT"/released/* . ;;
    "attestation verify") [[ $3 == oci://* ]] || [ -e "$3" ] || fails "no $3" ;;
    "pr comment") [ -s "$(sed -n 's/.*--body-file \(\S*\).*/\1/p' <<<"$*")" ] || fails "no comment" ;;
    esac
    ;;
cosign) [[ $* == *"--certificate-identity https://"*" --certificate-oidc-issuer https://"*" ghcr.io/"* ]] ;;
# Its default branch is master.
jb) [[ $2 == *@main ]] || fails "no branch master" ;;
npx) begins 127.0.0.1:4010/v1/repositories?limit=1 python3 "$TREE/tests/docs/prism.py" "${*: -2:1}" "${*: -1}" ;;
sudo) PATH=$(dirname "$0"):$PATH exec "$@" ;;
mail) grep -q . || fails "an empty mail" ;;
pytest) [ -d "$1" ] ;;
*) fails "$*" ;;
esac
