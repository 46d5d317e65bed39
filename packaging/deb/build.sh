#!/bin/sh
# Builds the Debian package out of the project's wheel and the locked dependencies.
#
#   build.sh DIST      reads DIST/atlas_desktop-VERSION-py3-none-any.whl (`make wheel`), writes the .deb beside it
#
# Needs Debian or Ubuntu with: python3 (3.11 or newer, the system's own: the package runs on it) and its python3-venv,
# dpkg-dev, binutils, a C and C++ compiler. No rights are needed. The package fits systems with the same
# minor version of Python and a C library that is not older. What was built once (llama.cpp) is kept in build/deb.
set -eu
umask 022

here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../.." && pwd)
dist=$(cd "${1:?the folder with the wheel}" && pwd)
work=$project/build/deb
root=$work/root
prefix=/opt/atlas-desktop
python=/usr/bin/python3

fail() { echo "build.sh: $*" >&2; exit 1; }

for tool in dpkg-deb dpkg-shlibdeps strip cc c++; do
    command -v "$tool" >/dev/null || fail "$tool is missing (apt-get install dpkg-dev binutils gcc g++)"
done
[ -x "$python" ] || fail "$python is missing (apt-get install python3)"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$python is older than 3.11"
"$python" -c 'import ensurepip' 2>/dev/null || fail "ensurepip is missing (apt-get install python3-venv)"

version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$project/atlas_desktop/__init__.py")
wheel=$dist/atlas_desktop-$version-py3-none-any.whl
[ -f "$wheel" ] || fail "$wheel is missing (make wheel)"
# 1.0rc1 comes before 1.0 in Debian's order too.
package_version=$(printf '%s' "$version" | sed -E 's/(\.?)(dev|a|b|rc)([0-9]+)$/~\2\3/')-1
architecture=$(dpkg --print-architecture)
python_version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
next_python=$("$python" -c 'import sys; print("%d.%d" % (sys.version_info[0], sys.version_info[1] + 1))')
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$project" log -1 --format=%ct 2>/dev/null ||
    stat -c %Y "$project/pyproject.toml")}
export SOURCE_DATE_EPOCH
# Nothing of the person who builds may steer or end up in the package; pip's own settings (which index) stay.
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_USER 2>/dev/null || true
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore LC_ALL=C.UTF-8

mkdir -p "$work"
rm -rf "$root" "$work/shlibs"
mkdir -p "$root$prefix" "$root/DEBIAN"

echo "environment on $("$python" --version)"
"$python" -m venv "$root$prefix"
inside=$root$prefix/bin/python
"$inside" -m pip install --quiet --no-compile --only-binary=:all: --require-hashes --requirement "$here/pip.lock"
"$inside" -m pip uninstall --quiet --yes setuptools
llama=$("$here/llama-wheel.sh" "$project/requirements.lock" "$work/llama" "$inside")
# llama-cpp-python's hash was checked on its sources; what is left of the list is checked here.
awk '/^[^ #]/ { keep = $0 !~ /^llama-cpp-python==/ } keep' "$project/requirements.lock" >"$work/others.lock"
"$inside" -m pip install --quiet --no-compile --no-deps --only-binary=:all: --require-hashes \
    --requirement "$work/others.lock"
"$inside" -m pip install --quiet --no-compile --no-deps --no-index "$llama"/*.whl "$wheel"
"$inside" -m pip check

echo "files"
"$python" "$here/tidy.py" "$root" "$prefix"
install -d "$root/usr/bin" "$root/usr/share/applications" "$root/usr/share/man/man1" \
    "$root/usr/share/icons/hicolor/scalable/apps" "$root/usr/share/doc/atlas-desktop/licenses" \
    "$root/usr/share/lintian/overrides"
ln -s "$prefix/bin/atlas" "$root/usr/bin/atlas"
install -m 644 "$here/../atlas-desktop.desktop" "$root/usr/share/applications/"
install -m 644 "$project/assets/icon.svg" "$root/usr/share/icons/hicolor/scalable/apps/atlas-desktop.svg"
(cd "$project/assets/icons/hicolor" && find . -name '*.png' -exec install -D -m 644 {} "$root/usr/share/icons/hicolor/{}" \;)
"$inside" -B "$here/manpage.py" "$version" "$SOURCE_DATE_EPOCH" | gzip -9n >"$root/usr/share/man/man1/atlas.1.gz"
install -m 644 "$llama"/licenses/* "$root/usr/share/doc/atlas-desktop/licenses/"
"$inside" -B "$here/copyright.py" "$prefix" "$project/LICENSE" >"$root/usr/share/doc/atlas-desktop/copyright"
{
    echo "atlas-desktop ($package_version) unstable; urgency=medium"
    echo
    echo "  * Package of Atlas Desktop $version."
    echo
    echo " -- The Atlas Desktop authors <authors@atlas-desktop.invalid>  $(date -u -R -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9n >"$root/usr/share/doc/atlas-desktop/changelog.Debian.gz"
if [ -f "$project/CHANGELOG.md" ]; then
    gzip -9nc "$project/CHANGELOG.md" >"$root/usr/share/doc/atlas-desktop/changelog.gz"
fi
install -m 644 "$here/lintian-overrides" "$root/usr/share/lintian/overrides/atlas-desktop"

# The system's libraries that the compiled parts need; those that the wheels bring with them are found in place.
mkdir -p "$work/shlibs/debian"
printf 'Source: atlas-desktop\n\nPackage: atlas-desktop\nArchitecture: any\n' >"$work/shlibs/debian/control"
set --
for folder in $(find "$root$prefix/lib" -name '*.so*' -type f -printf '%h\n' | LC_ALL=C sort -u); do
    set -- "$@" "-l$folder"
done
find "$root$prefix/lib" -type f -name '*.so*' | LC_ALL=C sort >"$work/shlibs/files"
libraries=$(cd "$work/shlibs" && xargs dpkg-shlibdeps -O --ignore-missing-info "$@" <files 2>warnings |
    sed -n 's/^shlibs:Depends=//p')
[ -n "$libraries" ] || { cat "$work/shlibs/warnings" >&2; fail "dpkg-shlibdeps found nothing"; }

echo "package"
find "$root" -mindepth 1 -type d -exec chmod 755 {} +
find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
sed -e "s/@VERSION@/$package_version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SHARED_LIBRARIES@/$libraries/" \
    -e "s/@PYTHON@/$python_version/" -e "s/@NEXT_PYTHON@/$next_python/" \
    -e "s/@INSTALLED_SIZE@/$(du -sk --apparent-size --exclude=DEBIAN "$root" | cut -f1)/" \
    "$here/control.in" >"$root/DEBIAN/control"
(cd "$root" && find opt usr -type f | LC_ALL=C sort | xargs -d '\n' md5sum) >"$root/DEBIAN/md5sums"
install -m 755 "$here/postinst" "$here/prerm" "$root/DEBIAN/"
chmod 644 "$root/DEBIAN/control" "$root/DEBIAN/md5sums"
find "$root/DEBIAN" -exec touch --date="@$SOURCE_DATE_EPOCH" {} +

if leaks=$(grep -rlF -e "$work" -e "$dist/" -e "$project/.venv" "$root"); then
    fail "paths of this machine in: $leaks"
fi
package=$dist/atlas-desktop_${package_version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$package"
rm -rf "$root" "$work/shlibs" "$work/others.lock"
ls -sh "$package"
