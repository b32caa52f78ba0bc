#!/usr/bin/env bash
# Builds the wheel, the `tritium` program inside: python/dist/tritium-….whl, whose path is the only thing printed.
#
#   TRITIUM_BIN=path/to/tritium package.sh [--debug]
#
# Without TRITIUM_BIN the program is built. Needs maturin: that of `.deps`, or one from `pip install maturin`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/..
target="${CARGO_TARGET_DIR:-$root/target}"
export PYTHONPATH="$root/.deps/python${PYTHONPATH:+:$PYTHONPATH}" PATH="$root/.deps/python/bin:$PATH"
profile=release
[ "${1:-}" = --debug ] && profile=dev

if [ -z "${TRITIUM_BIN:-}" ]; then
  (cd "$root" && cargo build --quiet --profile "$profile" --package tritium-cli)
  TRITIUM_BIN=$target/$([ $profile = dev ] && echo debug || echo release)/tritium
fi
scripts=$here/tritium.data/scripts
rm -rf "$here/tritium.data" && mkdir -p "$scripts" "$here/tritium.data/platlib"
# Read by every Python of the environment when it starts.
cp "$here/tritium.pth" "$here/tritium.data/platlib/"
cp "$TRITIUM_BIN" "$scripts/tritium"
# Debug information is most of the size, and nobody debugs the copy in a wheel.
strip "$scripts/tritium"
rm -rf "$here/dist"
cd "$here"
maturin build --quiet --profile "$profile" --out dist --auditwheel skip >&2
ls "$here"/dist/*.whl
