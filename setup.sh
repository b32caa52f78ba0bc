#!/bin/sh
# Installs what building Tritium needs and leaves alone what is already there:
# a C++ linker and pip (through apt), Rust (through rustup), and into .deps/ LLVM, ptxas, NumPy (the reference of tests), maturin and pytest,
# pinned by hash in xtask/requirements/. `cargo xtask setup` runs this same script.
set -eu
cd "$(dirname "$0")"

has() { command -v "$1" >/dev/null 2>&1; }

# Ask apt only for what is missing, so that nobody needs root who has everything.
missing=""
has c++ || missing="$missing g++"
{ has python3 && python3 -m pip --version >/dev/null 2>&1; } || missing="$missing python3-pip"
# The cargo of a distribution may be years old; rustup brings the one that rust-toolchain.toml names.
PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
has_rust() { [ "$(cargo --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\).*/\1/p')" -ge 95 ] 2>/dev/null; }
has_rust || has curl || missing="$missing curl ca-certificates"
if [ -n "$missing" ]; then
    if ! has apt-get; then
        echo "setup: missing$missing; please install them with your package manager and run this again" >&2
        exit 1
    fi
    if [ "$(id -u)" = 0 ]; then sudo=""; else sudo="sudo"; fi
    echo "setup: installing$missing" >&2
    $sudo apt-get update -q >&2
    # shellcheck disable=SC2086  # a list of packages is meant to split
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >&2
fi

if ! has_rust; then
    echo "setup: installing Rust" >&2
    rustup="$(mktemp)"
    if ! curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs -o "$rustup"; then
        echo "setup: please install Rust 1.95 or later yourself and run this again" >&2
        exit 1
    fi
    sh "$rustup" -y -q --default-toolchain none --no-modify-path >&2
    rm -f "$rustup"
    # With no argument this installs what rust-toolchain.toml names.
    rustup toolchain install >&2
fi

# One folder of wheels, made whole or not at all; its copy of the requirements says what is in it.
wheels() {
    wanted="xtask/requirements/$1.txt"
    place=".deps/$1"
    if cmp -s "$wanted" "$place/requirements.txt"; then return; fi
    echo "setup: installing $2 into $place" >&2
    mkdir -p .deps
    fresh=".deps/$1.new.$$"
    rm -rf "$fresh"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --no-compile \
        --require-hashes --only-binary :all: --target "$fresh" -r "$wanted" >&2
    cp "$wanted" "$fresh/requirements.txt"
    rm -rf "$place"
    mv "$fresh" "$place"
}
wheels llvm "LLVM"
wheels ptxas "ptxas and nvdisasm"
wheels numpy "NumPy (for tests)"
wheels python "maturin and pytest (for the Python module)"
echo "setup: ready" >&2
