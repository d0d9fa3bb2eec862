# Checks of the Debian package and its systemd units; sourced by run.sh.
# shellcheck shell=bash

# `set -e` ignores a command after `!`.
not() {
    if "$@"; then
        echo "unexpected: $*"
        return 1
    fi
}

# Packages the program of the image as a release does.
package_is_made() {
    local target built
    target=$(rustc --print host-tuple)
    built=${CARGO_TARGET_DIR:-$root/target}/$target/release
    rm -rf "$packages"
    install -D -m 755 "$program" "$built/translation-exporter"
    PATH=$tools/cargo/bin:$PATH "$deploy/release/package.sh" "$target" "$packages" --fast
    cmp "$program" "$packages"/image/*/image/usr/bin/translation-exporter
    tar -xzf "$packages"/*.tar.gz -C "$packages"
    local unpacked=("$packages"/translation-exporter-"$version".linux-*/)
    cmp "$program" "${unpacked[0]}translation-exporter"
    diff "$deploy/systemd" "${unpacked[0]}systemd"
    local command shell
    for command in serve once check-config health demo; do
        grep -qF 'config.file' "${unpacked[0]}man/translation-exporter-$command.1"
        for shell in translation-exporter.bash translation-exporter.fish _translation-exporter; do
            grep -q -- "$command" "${unpacked[0]}completions/$shell"
        done
    done
    bash -n "${unpacked[0]}completions/translation-exporter.bash"
    # An earlier version of the package, which had a socket unit too, for the upgrade.
    dpkg-deb --raw-extract "$packages"/*.deb "$packages/earlier"
    sed -i 's/^Version: .*/Version: 0.0.9-1/' "$packages/earlier/DEBIAN/control"
    printf '[Socket]\nListenStream=10018\n[Install]\nWantedBy=sockets.target\n' \
        >"$packages/earlier/usr/lib/systemd/system/translation-exporter.socket"
    dpkg-deb --root-owner-group -Znone --build "$packages/earlier" "$packages/earlier.deb" >/dev/null
    local file
    for file in "$packages"/translation-exporter[_-]*.{deb,tar.gz}; do
        echo "note: $(basename "$file"): $(stat -c %s "$file" | numfmt --to=iec), unoptimised"
    done
}

# In a clean root, where nothing else was installed; `in_root` runs in it.
package_is_installed_upgraded_and_purged() {
    local clean=$work/clean-$1
    rm -rf "$clean"
    cp -a "$tools/debian-$1" "$clean"
    cp "$packages"/translation-exporter_*.deb "$clean/package.deb"
    cp "$packages/earlier.deb" "$clean/"
    in_root() { chroot "$clean" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive SYSTEMD_OFFLINE=1 "$@"; }
    # The scripts believe that systemd runs; what they request is recorded.
    mkdir -p "$clean/run/systemd/system"
    mv "$clean/usr/bin/systemctl" "$clean/usr/bin/systemctl.real"
    printf '#!/bin/sh\necho "$@" >>/asked\n' >"$clean/usr/bin/systemctl"
    chmod 755 "$clean/usr/bin/systemctl"
    asked() { grep -E -- "(^| )($1)( |$)" "$clean/asked"; }
    local config=$clean/etc/translation-exporter/config.yaml key=$clean/etc/translation-exporter/api-key
    local state=$clean/var/lib/private/translation-exporter/state.json
    local enabled=$clean/etc/systemd/system/multi-user.target.wants/translation-exporter.service

    in_root dpkg --install /earlier.deb | tee "$work/installed"
    grep -q "neither enabled nor started" "$work/installed"
    grep -q "/etc/translation-exporter/config.yaml" "$work/installed"
    grep -q "systemctl enable --now translation-exporter.service" "$work/installed"
    asked daemon-reload
    not asked 'start|restart|try-restart|enable'
    [ ! -e "$enabled" ]
    in_root translation-exporter --version
    [ -s "$clean/usr/share/man/man1/translation-exporter.1.gz" ]
    # With the configuration unchanged, the program says what is missing.
    echo a-key >"$key"
    local check=(in_root translation-exporter check-config --config.file="${config#"$clean"}" --api.key-file="${key#"$clean"}")
    not "${check[@]}" 2>"$work/missing"
    grep -q 'api.base_url' "$work/missing"
    sed -i 's/# base_url:/base_url:/' "$config"
    "${check[@]}"

    # This systemd accepts the units and rates the service as well confined; the threshold is in tenths.
    in_root systemd-analyze verify --recursive-errors=yes translation-exporter.service 2>&1 | tee "$work/verify"
    [ ! -s "$work/verify" ]
    in_root systemd-analyze security --offline=true --threshold=14 --no-pager translation-exporter.service >"$work/security"
    sed -n 's/^→ /note: /p' "$work/security"

    echo "# an edit" >>"$config"
    in_root systemctl.real enable translation-exporter.service translation-exporter.socket
    mkdir -p "$(dirname "$state")"
    echo state >"$state"
    ln -s private/translation-exporter "$clean/var/lib/translation-exporter"
    : >"$clean/asked"
    in_root dpkg --install /package.deb | tee "$work/upgraded"
    not grep -q "neither enabled" "$work/upgraded"
    # try-restart starts nothing that was not running. The socket frees the port before that.
    asked 'try-restart.* translation-exporter.service'
    not asked 'restart|start'
    [ "$(asked 'stop|try-restart' | grep -o '[a-z]*$' | xargs)" = "socket service" ]
    find "$clean/etc" "$clean/var/lib/systemd" -name '*.socket*' | tee "$work/left"
    [ ! -s "$work/left" ]
    grep -q "# an edit" "$config"
    [ -L "$enabled" ]
    [ -e "$state" ]

    : >"$clean/asked"
    in_root dpkg --remove translation-exporter
    asked 'stop.* translation-exporter.service'
    [ ! -e "$clean/usr/bin/translation-exporter" ]
    local kept
    for kept in "$config" "$key" "$state"; do
        [ -e "$kept" ]
    done
    in_root dpkg --install /package.deb
    grep -q "# an edit" "$config"
    [ "$(in_root systemctl.real is-enabled translation-exporter.service)" = enabled ]

    in_root dpkg --purge translation-exporter
    find "$clean" -name '*translation-exporter*' | tee "$work/left"
    [ ! -s "$work/left" ]
    rm -rf "$clean"
}

unit_keeps_its_contract() {
    "$python" "$here/unit.py" "$program" "$deploy/systemd/translation-exporter.service" "$deploy/README.md" "$work/unit" "$fake_api" |
        sed 's/^/note: /'
}

# Compares the system calls that strace recorded with the unit's own filter.
system_calls_pass_the_filter() {
    local call refused=()
    set_of() { chroot "$tools/debian-${suites[0]}" systemd-analyze syscall-filter --no-pager "$@" | sed -n 's/^ *\([a-z0-9_@-]*\)$/\1/p'; }
    expand() {
        local one
        for one in $(set_of "$1" | grep -vx -- "$1"); do
            case $one in @*) expand "$one" ;; *) echo "$one" ;; esac
        done
    }
    grep -qx 'SystemCallFilter=@system-service' "$deploy/systemd/translation-exporter.service"
    grep -qx 'SystemCallFilter=~@privileged @resources' "$deploy/systemd/translation-exporter.service"
    # What systemd always allows, whatever the filter.
    { expand @system-service; expand @default; } | sort -u >"$work/allowed"
    { expand @privileged; expand @resources; } | sort -u >"$work/denied"
    # A refused call would fail with EPERM; none may be.
    while read -r call; do
        if ! grep -qx "$call" "$work/allowed" || grep -qx "$call" "$work/denied"; then
            refused+=("$call")
        fi
    done <"$work/unit/system-calls"
    echo "note: $(wc -l <"$work/unit/system-calls") different calls"
    [ ${#refused[@]} -eq 0 ] || { echo "refused: ${refused[*]}"; return 1; }
}
