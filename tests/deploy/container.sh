# Checks of the image, and of the pods that are made of it; sourced by run.sh.
# shellcheck shell=bash

# The build stage's two steps, in a folder that holds only what the Dockerfile copies there. Only the last step of all is static,
# so that what the other tests built is used again.
dockerfile_inputs_build_a_static_program() {
    local context=$work/context copied from built=${CARGO_TARGET_DIR:-$root/target}/debug/translation-exporter
    rm -rf "$context"
    mkdir -p "$context/src"
    build() {
        TRANSLATION_EXPORTER_REVISION=test cargo rustc --locked --target-dir "${CARGO_TARGET_DIR:-$root/target}" \
            --manifest-path "$context/Cargo.toml" --bin translation-exporter -- -C target-feature=+crt-static
    }
    cp "$root/Cargo.toml" "$root/Cargo.lock" "$context"
    echo 'fn main() {}' >"$context/src/main.rs"
    cp "$context/src/main.rs" "$context/src/build.rs"
    touch "$context/src/lib.rs"
    # Nobody else may build this program at the same time.
    local lock
    exec {lock}>"$tools/programs.lock"
    flock "$lock"
    build
    copied=$(sed -n '/^FROM scratch/q; s/^COPY \([^-].*\) [^ ]*$/\1/p' "$deploy/container/Dockerfile" | xargs)
    [ "$copied" = "Cargo.toml Cargo.lock src" ]
    for from in $copied LICENSE; do
        grep -qxF "!$from" "$deploy/container/Dockerfile.dockerignore"
    done
    cp -a "$root/src" "$context"
    touch "$context"/src/*.rs
    build
    install -D "$built" "$program"
    exec {lock}>&-
    strip "$program"
    if readelf --program-headers "$program" | grep -q INTERP; then
        echo "the program needs a loader"
        return 1
    fi
    "$program" --version
    echo "note: $(stat -c %s "$program" | numfmt --to=iec) unoptimised"
}

buildah_builds_the_final_stage() {
    install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$stage/$arch/image/etc/ssl/certs/ca-certificates.crt"
    mkdir -p "$stage/$arch/image/var/lib" "$stage/$arch/state" "$work/context"
    cp "$root/LICENSE" "$work/context/"
    local container buildah=(buildah --root "$work/storage" --runroot "$work/storage-run" --storage-driver vfs)
    "${buildah[@]}" bud --isolation chroot --format docker --build-context "build=$stage" --file "$deploy/container/Dockerfile" \
        --tag translation-exporter:test "$work/context"
    "${buildah[@]}" inspect --type image translation-exporter:test >"$work/image.json"
    "$python" - "$work/image.json" <<'PY'
import json, sys
described = json.load(open(sys.argv[1]))
image = described["OCIv1"]["config"]
assert image["User"] == "65532:65532", image
assert image["Entrypoint"] == ["/usr/bin/translation-exporter"], image
assert "10018" in str(image["ExposedPorts"]), image
# Only Docker's configuration has a health check, not OCI's.
assert described["Docker"]["config"]["Healthcheck"]["Test"] == ["CMD", "/usr/bin/translation-exporter", "health"], described["Docker"]
labels = {label.removeprefix("org.opencontainers.image.") for label in image["Labels"]}
assert {"title", "description", "source", "documentation", "licenses", "version", "revision", "url", "authors", "created"} <= labels, labels
PY
    rm -rf "$image_root"
    container=$("${buildah[@]}" from translation-exporter:test)
    cp -a "$("${buildah[@]}" mount "$container")" "$image_root"
    "${buildah[@]}" rm "$container" >/dev/null
    "${buildah[@]}" rmi --all --force >/dev/null
    [ "$(stat -c %u:%g "$image_root/var/lib/translation-exporter")" = 65532:65532 ]
    # No shell, no library, nothing else that runs.
    [ "$(find "$image_root" -type f -perm /111)" = "$image_root/usr/bin/translation-exporter" ]
    # The user can write to nothing except the volume's mount point.
    [ "$(find "$image_root" -mindepth 1 -uid 65532)" = "$image_root/var/lib/translation-exporter" ]
}

hadolint_finds_nothing() {
    "$tools/python/bin/hadolint" "$deploy/container/Dockerfile"
    # Dependabot updates the Dockerfile's base image, and not that of the workflows.
    grep -rhoE 'rust:[^ ]+' "$deploy/container/Dockerfile" "$root/.github/workflows" | sort -u | tee "$work/bases"
    [ "$(wc -l <"$work/bases")" = 1 ]
    grep -q '@sha256:' "$work/bases"
}

# Each runs for as long as its probes' periods; all run at once, each in its own network.
start_pods() {
    local pod
    for pod in "${pods[@]}"; do
        rm -f "$work/pod-$pod.code"
        (
            set +e
            SANDBOX=$work "$python" "$here/pod.py" "$rendered/$pod.yaml" "$image_root" "$work/image.json" "$fake_api" \
                >"$work/pod-$pod.log" 2>"$work/pod-$pod.stderr"
            echo $? >"$work/pod-$pod.code"
        ) &
    done
}

pod_keeps_its_contract() {
    local waited
    for ((waited = 0; waited < 1800; waited++)); do
        [ -s "$work/pod-$1.code" ] && break
        sleep 0.1
    done
    sed 's/^/note: /' "$work/pod-$1.log"
    cat "$work/pod-$1.stderr"
    [ "$(cat "$work/pod-$1.code")" = 0 ]
}
