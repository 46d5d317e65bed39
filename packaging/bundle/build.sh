#!/bin/sh
# Builds the bundle: one executable file with the program and all its libraries, for systems that have Python.
#
#   build.sh DIST      reads DIST/atlas_desktop-VERSION-py3-none-any.whl (`make wheel`), writes the bundle beside it
#
# PYTHON (/usr/bin/python3) is the interpreter to build with; the bundle runs on any Linux system with the same
# minor version of Python, a C library that is not older, and libgomp. Besides Python with ensurepip, a C and C++
# compiler is needed. What was built once (llama.cpp) is kept in build/deb, which the Debian package shares.
set -eu
umask 022

here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../.." && pwd)
dist=$(cd "${1:?the folder with the wheel}" && pwd)
work=$project/build/bundle
python=${PYTHON:-/usr/bin/python3}

fail() { echo "build.sh: $*" >&2; exit 1; }

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$python is missing or older than 3.11"
"$python" -c 'import ensurepip' 2>/dev/null || fail "ensurepip is missing (apt-get install python3-venv)"
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$project/atlas_desktop/__init__.py")
wheel=$dist/atlas_desktop-$version-py3-none-any.whl
[ -f "$wheel" ] || fail "$wheel is missing (make wheel)"
python_version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_USER 2>/dev/null || true
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore LC_ALL=C.UTF-8

echo "libraries for $("$python" --version)"
rm -rf "$work"
mkdir -p "$work/wheels"
"$python" -m venv "$work/tools"
inside=$work/tools/bin/python
"$inside" -m pip install --quiet --only-binary=:all: --require-hashes --requirement "$here/pex.lock"
llama=$("$here/../deb/llama-wheel.sh" "$project/requirements.lock" "$project/build/deb/llama" "$inside")
# llama-cpp-python's hash was checked on its sources; what is left of the list is checked here.
awk '/^[^ #]/ { keep = $0 !~ /^llama-cpp-python==/ } keep' "$project/requirements.lock" >"$work/others.lock"
for list in "$work/others.lock" "$here/../deb/pip.lock"; do
    "$inside" -m pip download --quiet --no-deps --only-binary=:all: --require-hashes --dest "$work/wheels" \
        --requirement "$list"
done
"$inside" "$here/slim.py" "$llama"/*.whl "$work/wheels"
cp "$wheel" "$work/wheels"

echo "bundle"
bundle=$dist/atlas-$version-linux-$(uname -m)-python$python_version.pex
# pip comes along because `atlas models pull` takes models out of wheels with it.
cat "$project/requirements.lock" "$here/../deb/pip.lock" | sed -n 's/^\([a-z].*[^ ]\) *\\$/\1/p' >"$work/all"
PEX_ROOT=$work/pex "$work/tools/bin/pex" atlas-desktop --requirement "$work/all" --intransitive \
    --no-index --find-links "$work/wheels" \
    --venv --sh-boot --python "$python" --python-shebang "/usr/bin/env python$python_version" \
    --script atlas --output-file "$bundle"
rm -rf "$work"
ls -sh "$bundle"
