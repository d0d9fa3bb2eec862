# Checks of the compose files and of the workflows; sourced by run.sh.
# shellcheck shell=bash

compose_files_are_valid() {
    "$tools/python/bin/check-jsonschema" --builtin-schema vendor.compose-spec \
        "$deploy/compose/compose.yaml" "$deploy/compose/account.yaml"
    "$python" "$here/compose.py" mounts "$deploy/compose/compose.yaml"
}

# Runs each service's own checker on the files where compose mounts them.
compose_configurations_are_valid() {
    local folder=$work/compose
    rm -rf "$folder"
    "$python" "$here/compose.py" lay "$deploy/compose/compose.yaml" "$folder"
    (cd "$folder/prometheus/etc/prometheus" && promtool check config prometheus.yml)
    amtool check-config "$folder/alertmanager/etc/alertmanager/alertmanager.yml"
    # Except for the addresses, it is the example for one machine.
    diff <(sed '1,/^global:/d' "$deploy/prometheus/prometheus.yaml" | sed 's/localhost:9093/alertmanager:9093/; s/localhost:10018/exporter:10018/' | grep -v '^ *#') \
        <(sed '1,/^global:/d' "$deploy/compose/prometheus.yaml" | grep -v '^ *#')
}

compose_commands_are_understood() {
    # The program runs in the image's root, where compose mounts the key.
    local root_folder=$work/compose-root
    rm -rf "$root_folder"
    cp -a "$image_root" "$root_folder"
    install -D -m 644 <(echo a-key) "$root_folder/run/secrets/api-key"
    BASE_URL=https://translations.example.com API_KEY_FILE=key \
        "$python" "$here/compose.py" command "$deploy/compose/account.yaml" >"$work/compose-command"
    xargs chroot --userspec=65532:65532 "$root_folder" /usr/bin/translation-exporter <"$work/compose-command" check-config
}

workflows_are_valid() {
    local jsonschema=("$tools/python/bin/check-jsonschema" --builtin-schema) example=$work/example/.github/workflows
    # The example names our own action by a tag, as only whoever uses it knows the commit that they have reviewed.
    mkdir -p "$example"
    sed "s|\(deploy/ci/github\)@v.*|\1@$(printf '%040d' 0)|" "$deploy/ci/github/example.yaml" >"$example/example.yaml"
    "${jsonschema[@]}" vendor.github-workflows "$root"/.github/workflows/*.yaml "$example/example.yaml"
    "${jsonschema[@]}" vendor.github-actions "$deploy/ci/github/action.yml"
    "${jsonschema[@]}" vendor.gitlab-ci --data-transform gitlab-ci "$deploy"/ci/*.yml
    "${jsonschema[@]}" vendor.dependabot "$root/.github/dependabot.yml"
    "$tools/python/bin/zizmor" --offline --quiet "$root/.github" "$deploy/ci/github" "$work/example"
}

# The crate holds the program alone, and builds from it.
crate_is_complete() {
    cd "$root"
    cargo package --list --allow-dirty --quiet >"$work/crate"
    if grep -vE '^(src/.*|Cargo[.](lock|toml|toml[.]orig)|LICENSE|README[.]md|[.]cargo_vcs_info[.]json)$' "$work/crate"; then
        return 1
    fi
    cargo package --locked --offline --allow-dirty --quiet
}

# The version stands in Cargo.toml; a script writes it into the other files.
one_version_everywhere() {
    local copy=$work/versions
    rm -rf "$copy"
    mkdir -p "$copy"
    cp -a "$root/Cargo.toml" "$deploy" "$copy/"
    "$copy/deploy/release/version.sh"
    diff -r --no-dereference "$deploy" "$copy/deploy" || { echo "Run deploy/release/version.sh"; return 1; }
    "$python" "$here/manifests.py" versions "$rendered" "$version"
    sed -i "s/^version = \"$version\"/version = \"9.9.9\"/" "$copy/Cargo.toml"
    [ "$("$copy/deploy/release/version.sh")" = 9.9.9 ]
    # Only the package's script speaks of an earlier version.
    if grep -rF "$version" "$copy/deploy" --exclude-dir=debian; then
        echo "deploy/release/version.sh leaves these as they are"
        return 1
    fi
}
