#!/usr/bin/env bash
# Draws Neovim: the softmax kernel with its hover up (OUT.webp), a matrix product beside its PTX (OUT-ptx.webp) and the configurations
# of it in a float (OUT-configurations.webp).
#
#   shot.sh NVIM NODE SCRATCH OUT.webp     with the variables that test.sh sets
set -euo pipefail
nvim=$1 node=$2 scratch=$3 out=$4
here=$(cd "$(dirname "$0")" && pwd)
columns=118 rows=31
export LC_ALL=C.UTF-8 COLORTERM=truecolor
cp -r "$here/../../fixtures/ws" "$scratch/shot"
mux() { tmux -S "$scratch/tmux" -f "$here/tmux.conf" "$@"; }
trap 'mux kill-server 2>/dev/null || true' EXIT
# Waits until the screen shows the words.
until_shown() {
  local n
  for n in $(seq 300); do
    if mux capture-pane -p | grep -qF -- "$1"; then return 0; fi
    sleep 0.1
  done
  echo "never shown: $1" >&2
  mux capture-pane -p >&2
  return 1
}
mux new-session -d -x $columns -y $rows \
  "'$nvim' --clean -u '$here/init.lua' --cmd 'set termguicolors number signcolumn=yes laststatus=0 noruler noshowcmd winborder=rounded nowrap linebreak' '$scratch/shot/softmax.py'"
until_shown 'f32[1024]'
until_shown '▶ Run'
mux send-keys '8G' 'w' 'K'
until_shown 'registers'
sleep 0.5
mux capture-pane -e -p >"$scratch/screen.ansi"
"$node" "$here/../terminal.mjs" "$scratch/screen.ansi" "$out" $columns $rows
shoot() {
  sleep 0.7
  mux capture-pane -e -p >"$scratch/screen.ansi"
  "$node" "$here/../terminal.mjs" "$scratch/screen.ansi" "${out%.webp}-$1.webp" $columns $rows
}
mux send-keys Escape ":edit $scratch/shot/tuned.py" Enter
until_shown 'f16[64, 32]'
mux send-keys '/total = tl.dot' Enter ':nohlsearch' Enter ':Tritium view ptx' Enter
until_shown 'wgmma'
shoot ptx
mux send-keys ':only' Enter ':Tritium configs' Enter
until_shown 'shared bytes'
shoot configurations
mux send-keys Escape ':qa!' Enter
