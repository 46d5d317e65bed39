#!/bin/sh
# Builds llama-cpp-python, locked in requirements.lock, so that it runs on other machines than this one.
#
#   llama-wheel.sh LOCK WORK PYTHON    prints the folder with the wheel and the licences of what is in it
#                                      (progress goes to standard error)
#
# The wheel that pip makes by itself is compiled for the processor it is built on, and would die of an illegal
# instruction on an older one. This one asks for a fixed set (on amd64: AVX2, FMA, F16C, BMI2: any PC since about
# 2014). Sources and build lie in WORK under fixed names, mapped away in the binaries, so that assertion messages
# carry no path of the build machine. A wheel is built once for each version, compiler and set of options.
set -eu

lock=$1 work=$2 python=$3
name=llama-cpp-python

# The instruction sets are named one by one: llama.cpp turns them all off when SOURCE_DATE_EPOCH is set.
options='-DGGML_NATIVE=OFF -DGGML_SSE42=ON -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON'

mkdir -p "$work"
entry="$work/$name.lock"
awk -v start="^$name==" '/^[^ #]/ { keep = $0 ~ start } keep' "$lock" >"$entry"
[ -s "$entry" ] || { echo "$lock does not hold $name" >&2; exit 1; }

tools="$(dirname "$lock")/requirements-build.lock"
recipe=$({ cat "$entry" "$tools"; echo "$options"; ${CC:-cc} --version; ${CXX:-c++} --version; } |
    sha256sum | cut -c 1-16)
store="$work/$name-$recipe"
if [ ! -e "$store/done" ]; then
    echo "building $name (a few minutes)" >&2
    rm -rf "$store" "$work/source" "$work/cmake"
    mkdir -p "$store" "$work/source" "$work/tmp"
    export TMPDIR="$work/tmp"
    # The tools that build it are locked too, and do not stay in the package.
    "$python" -m venv --clear "$work/tools"
    builder="$work/tools/bin/python"
    "$builder" -m pip install --quiet --require-hashes --only-binary=:all: --requirement "$tools" >&2
    "$builder" -m pip download --quiet --no-deps --no-cache-dir --no-binary="$name" --require-hashes \
        --no-build-isolation --dest "$store" --requirement "$entry" >&2
    tar -xzf "$store"/*.tar.gz --strip-components 1 -C "$work/source"
    rm "$store"/*.tar.gz
    mapped="-ffile-prefix-map=$work/source=$name -ffile-prefix-map=$work/cmake=$name"
    CMAKE_ARGS="$options" CFLAGS="$mapped" CXXFLAGS="$mapped" \
        "$builder" -m pip wheel --quiet --no-deps --no-cache-dir --no-build-isolation --wheel-dir "$store" \
        --config-settings=build-dir="$work/cmake" "$work/source" >&2
    mkdir "$store/licenses"
    cp "$work/source/vendor/llama.cpp/LICENSE" "$store/licenses/LICENSE-llama.cpp"
    cp "$work/source/vendor/llama.cpp/licenses/"LICENSE-* "$store/licenses/"
    rm -rf "$work/source" "$work/cmake" "$work/tmp" "$work/tools"
    touch "$store/done"
fi
echo "$store"
