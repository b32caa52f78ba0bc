#!/usr/bin/env bash
# Builds the extension with the server inside: editors/vscode/tritium-linux-x64.vsix, or the file named.
#
#   TRITIUM_BIN=path/to/tritium package.sh [OUT.vsix]
#
# Without TRITIUM_BIN the release binary is built. Needs Node 20 or newer; after `npm ci` no network.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:-$here/tritium-linux-x64.vsix}")
root=$here/../..

if [ -z "${TRITIUM_BIN:-}" ]; then
  (cd "$root" && cargo build --release -p tritium-cli)
  TRITIUM_BIN=$root/target/release/tritium
fi
TRITIUM_BIN=$(realpath "$TRITIUM_BIN")
cd "$here"

# node_modules is as good as new while it was made from this very lock file.
if ! cmp -s package-lock.json node_modules/.made-from; then
  for attempt in 1 2 3 4 5; do
    npm ci --ignore-scripts --silent && break
    [ "$attempt" = 5 ] && exit 1
    sleep $((attempt * 3))
  done
  cp package-lock.json node_modules/.made-from
fi

npm run --silent check
npm run --silent build
rm -rf server && mkdir server
cp "$TRITIUM_BIN" server/tritium
# Debug information is most of the size and nobody debugs the copy in a package. A script in its place is left as it is.
if [ "$(head -c 4 server/tritium)" = $'\x7fELF' ]; then strip server/tritium; fi
chmod 755 server/tritium
server/tritium --version >&2
cp "$root/LICENSE" LICENSE
npx vsce package --no-dependencies --target linux-x64 --allow-missing-repository -o "$out" >&2
echo "$out"
