#!/bin/bash
# shellcheck disable=SC2016,SC2317  # words for other shells and for apt; functions called by traps
# Installs the Debian package or the bundle in a clean system, uses it as a person without rights would, and removes it.
#
#   test.sh PACKAGE                 in a fresh chroot (root; debootstrap, unshare); the mirror is the one of this system
#   test.sh --prefix PACKAGE.deb    unpacked into a temporary folder: no rights needed, but nothing is installed
#
# Models come from where `atlas models pull --defaults` gets them. When that cannot be reached, ATLAS_MODELS names a
# folder with GGUF files to import instead. Downloaded packages are kept in build/deb/debootstrap for the next time.
# Everything else is gone at the end, also after an interruption: mounts live in a namespace that ends with this script.
set -euo pipefail
umask 022

here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/.." && pwd)
export LC_ALL=C.UTF-8

say() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }
fail() { printf 'test.sh: %s\n' "$*" >&2; exit 1; }
field() { dpkg-deb --field "$package" "$1"; }
bundled() { [ "${package##*.}" = pex ]; }
version() {
    if bundled; then basename "$package" | sed -n 's/^atlas-\([^-]*\)-.*/\1/p'; else field Version | sed 's/-[^-]*$//'; fi
}
depends() {
    if bundled; then
        local python
        python=$(basename "$package" .pex | sed -n 's/.*-python//p')
        echo "python$python, libgomp1, ca-certificates"
    else
        field Depends
    fi
}
holds() { /usr/bin/python3 -c "import json, sys; it = json.load(sys.stdin); sys.exit(0 if ($1) else f'not so: $1')"; }
tell() { /usr/bin/python3 -c "import json, sys; it = json.load(sys.stdin); print($1)"; }

# What is the same in both ways. `atlas` and `as_person` say how to run things; $home is the person's.
use() {
    say "version and help"
    local before after
    atlas --version
    [ "$(atlas --version)" = "atlas $(version)" ] || fail "the version is not $(version)"
    before=$(date +%s%N) && atlas --version >/dev/null && after=$(date +%s%N)
    echo "atlas --version takes $(((after - before) / 1000000)) ms"
    atlas --help >/dev/null

    say "vault"
    as_person sh -c 'umask 077; echo "correct horse battery staple" >"$HOME/passphrase"'
    atlas vault create --passphrase-file "$home/passphrase" --json | tell 'it["created"], len(it["recovery_key"])'

    say "models"
    if atlas models pull --defaults --yes; then
        echo "fetched"
    elif [ -n "${ATLAS_MODELS:-}" ]; then
        local file
        for file in "$ATLAS_MODELS"/*.gguf; do
            as_person sh -c 'cat >"$HOME/taken.gguf"' <"$file"
            atlas models import "$home/taken.gguf" --name "$(basename "$file" .gguf)"
            as_person sh -c 'rm "$HOME/taken.gguf"'
        done
    else
        fail "no models: the registry cannot be reached, and ATLAS_MODELS is not set"
    fi
    atlas models list

    say "a question"
    ask | tee "$scratch/reply.json" | tell '(it["text"], it["model"], it["stop_reason"], it["timings"])'
    holds 'it["text"].strip() and it["stop_reason"] in ("stop", "length")' <"$scratch/reply.json"

    say "the same without a network"
    ask_without_network | holds 'it["text"].strip()' && echo "answered"

    say "what is there"
    atlas sessions list --passphrase-file "$home/passphrase" --json | holds 'it'
    atlas vault verify --passphrase-file "$home/passphrase"
    atlas doctor
}

ask() { atlas ask hello --max-tokens 8 --json --passphrase-file "$home/passphrase"; }

# All bytes of the package, not compressed.
unpacked() {
    if bundled; then
        /usr/bin/python3 -c "import sys, zipfile; it = zipfile.ZipFile(sys.argv[1])
for name in it.namelist(): sys.stdout.buffer.write(it.read(name))" "$package"
    else
        dpkg-deb --fsys-tarfile "$package"
    fi
}

no_build_paths() {
    say "no path of the build machine"
    local found
    found=$(unpacked | grep -acF -e "$project/build" -e "$project/dist" -e "$project/.venv" || true)
    [ "$found" = 0 ] || fail "the package names folders of $project"
    echo "none"
}

# Everything in the system but what changes by itself, and what belongs to the person.
snapshot() {
    find "$root" -xdev \( -path "$root/home/person" -o -path "$root/var/lib/dpkg" -o -path "$root/var/log" \
        -o -path "$root/var/cache" -o -path "$root/proc" -o -path "$root/dev" -o -path "$root/sys" \) -prune -o \
        \( -type d -printf '%P %y %m %u\n' , ! -type d -printf '%P %y %m %u %s %l\n' \) |
        grep -v '^opt d ' | LC_ALL=C sort # dpkg takes an empty /opt away
}

inside_chroot() {
    root=$scratch/root home=/home/person
    local suite mirror
    # shellcheck source=/dev/null
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $suite" | sed -n 1p)
    [ -n "$mirror" ] || fail "apt knows no mirror of $suite"

    say "a minimal $suite"
    mkdir -p "$project/build/deb/debootstrap"
    debootstrap --variant=minbase --cache-dir="$project/build/deb/debootstrap" "$suite" "$root" "$mirror" \
        >"$scratch/debootstrap.log" 2>&1 || { tail -n 20 "$scratch/debootstrap.log" >&2; fail "debootstrap failed"; }
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    system() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "$@"; }

    say "dependencies"
    depends
    system apt-get update -qq
    system apt-get satisfy -qq -y --no-install-recommends "$(depends)" >"$scratch/apt.log" 2>&1 ||
        { tail -n 20 "$scratch/apt.log" >&2; fail "the dependencies cannot be met"; }
    # The authorities that this machine trusts, and how pip is told to reach its registry from here.
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
    system useradd --create-home --shell /bin/sh person
    local -a settings=()
    local name
    for name in PIP_INDEX_URL PIP_TRUSTED_HOST PIP_DEFAULT_TIMEOUT http_proxy https_proxy no_proxy; do
        [ -z "${!name:-}" ] || settings+=("$name=${!name}")
    done
    as_person() { chroot --userspec=person:person "$root" env -i HOME="$home" USER=person LANG=C.UTF-8 \
        PATH=/usr/local/bin:/usr/bin:/bin PIP_CERT=/etc/ssl/certs/ca-certificates.crt "${settings[@]}" "$@"; }
    atlas() { as_person atlas "$@"; }
    ask_without_network() {
        export -f ask atlas as_person
        export root home
        unshare --net bash -c ask
    }
    snapshot >"$scratch/before"

    if bundled; then
        say "installation"
        install -m 755 "$package" "$root/usr/local/bin/atlas"
        use
        say "nothing outside the person's data folder but the unpacked program"
    else
        say "installation"
        cp "$package" "$root/tmp/package.deb"
        system dpkg -i /tmp/package.deb
        rm "$root/tmp/package.deb"
        echo "installed: $(du -sm "$root/opt/atlas-desktop" | cut -f1) MB in /opt/atlas-desktop"
        [ -z "$(find "$root/opt/atlas-desktop" ! -user root -o -perm /6022 ! -type l)" ] ||
            fail "files that others than root can change"
        [ "$(readlink "$root/usr/bin/atlas")" = /opt/atlas-desktop/bin/atlas ] || fail "/usr/bin/atlas leads elsewhere"
        if command -v desktop-file-validate >/dev/null; then
            desktop-file-validate "$root/usr/share/applications/atlas-desktop.desktop"
        fi
        use

        say "installed again over itself"
        cp "$package" "$root/tmp/package.deb"
        system dpkg -i /tmp/package.deb
        rm "$root/tmp/package.deb"
        atlas vault status

        say "nothing outside the person's data folder"
    fi
    as_person find "$home" -mindepth 1 -newer "$home/.profile" ! -path "$home/.local/share/*" ! -path "$home/.cache/pex/*" -type f |
        grep -vxF "$home/passphrase" && fail "files elsewhere in the home" || echo "none in the home"

    say "removal"
    if bundled; then rm "$root/usr/local/bin/atlas"; else system dpkg -r atlas-desktop; fi
    snapshot >"$scratch/after"
    diff -u "$scratch/before" "$scratch/after" || fail "the removed package leaves something behind"
    as_person find "$home/.local/share" -name '*.db' | grep -q . || fail "the person's data went with the package"
    echo "nothing is left but the person's own data"
}

# What Python compiles for itself is not counted: the installed package brings it compiled.
contents() { find "$root" -name __pycache__ -prune -o -printf '%P %y %m\n' | LC_ALL=C sort; }

in_prefix() {
    local python
    root=$scratch/prefix home=$scratch/home
    python=$(field Depends | sed -n 's/.*python3 (>= \([0-9.]*\)).*/\1/p')
    /usr/bin/python3 -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$python')" ||
        fail "/usr/bin/python3 is not Python $python, for which the package was built"
    say "unpacking"
    mkdir -p "$root" "$home"
    dpkg-deb --extract "$package" "$root"
    (cd "$root" && dpkg-deb --info "$package" md5sums | md5sum --quiet --check -)
    contents >"$scratch/before"
    as_person() { (cd "$home" && env -u ATLAS_HOME HOME="$home" XDG_DATA_HOME="$home/.local/share" "$@"); }
    # The command in bin/ names /opt; the interpreter beside it finds its libraries wherever it lies.
    atlas() { as_person "$root/opt/atlas-desktop/bin/python" -m atlas_desktop "$@"; }
    ask_without_network() {
        export -f ask atlas as_person
        export root home
        if unshare --user --map-current-user --net true 2>/dev/null; then
            unshare --user --map-current-user --net bash -c ask
        else
            echo "namespaces are not allowed here: asked with the network" >&2
            ask
        fi
    }
    use
    contents >"$scratch/after"
    diff -u "$scratch/before" "$scratch/after" || fail "the program wrote into its own folder"
}

run() {
    no_build_paths
    if [ "$mode" = --prefix ]; then in_prefix; else inside_chroot; fi
    say "all good"
}

mode=--chroot
case ${1:-} in --prefix | --inside) mode=$1 && shift ;; esac
[ $# = 1 ] || [ "$mode" = --inside ] || fail "which package? (given: $*)"
package=$(readlink -f "$1")
[ -f "$package" ] || fail "$package is missing (make deb, make bundle)"

if [ "$mode" = --inside ]; then
    scratch=$2
    run
    exit
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/atlas-package-test.XXXXXX")
child=
clean_up() {
    if [ -n "$child" ]; then
        kill -KILL "$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
    fi
    chmod -R u+w "$scratch" 2>/dev/null || true
    rm -rf --one-file-system "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

if [ "$mode" = --prefix ]; then
    bundled && fail "a bundle is tested in a chroot"
    run
    exit
fi
[ "$(id -u)" = 0 ] || fail "a chroot needs root; without: test.sh --prefix PACKAGE.deb"
for tool in debootstrap unshare; do
    command -v "$tool" >/dev/null || fail "$tool is missing (apt-get install debootstrap util-linux)"
done
unshare --mount --pid --fork --kill-child --propagation private "$here/test.sh" --inside "$package" "$scratch" &
child=$!
status=0
wait "$child" || status=$?
child=
exit "$status"
