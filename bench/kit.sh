#!/usr/bin/env bash
# Other projects' test-suites on a machine that has PyTorch, Triton and GPUs, but neither a network nor these projects.
#
#   bench/kit.sh pack DIR LIGER FLA                   here: the wheel of target/release/tritium, what pytest needs, and both checkouts, into DIR/kit.tar.xz
#   bench/kit.sh time DIR OUT FILE_SECONDS SECONDS    there: both suites under TRITIUM=bench, liger-kernel's on the last GPU and the other on the rest (in turn on one), into OUT
#   bench/kit.sh python DIR …                         there: Python with the wheels
#
# Launches slower than `REPLAY_BELOW` are kept for `bench/replay.py`: `cat OUT/kept.tar.xz.* | tar -xJ`.
set -euo pipefail
command=$1 kit=$(realpath -m "$2")
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)

# The archive once more without compression, which xz is better at.
stored() {
  python3 - "$1" "$2" <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(sys.argv[2], "w") as new:
    for item in old.infolist():
        content = old.read(item)
        item.compress_type = zipfile.ZIP_STORED
        new.writestr(item, content)
PYTHON
}

pack() {
  local liger=$1 fla=$2 place wheel
  place=$(mktemp -d)
  mkdir "$place/wheels" "$place/liger" "$place/fla"
  python3 -m pip download --quiet --no-deps --dest "$place/wheels" pytest pluggy iniconfig packaging pygments einops
  wheel=$(TRITIUM_BIN="$root/target/release/tritium" "$root/python/package.sh")
  stored "$wheel" "$place/wheels/$(basename "$wheel")"
  cp -r "$liger/src" "$liger/test" "$liger/pyproject.toml" "$place/liger"
  rm -rf "$place/liger/test/resources" "$place/liger/test/convergence"
  cp -r "$fla/fla" "$fla/tests" "$fla/scripts" "$fla/pyproject.toml" "$place/fla"
  mkdir -p "$kit"
  tar -C "$place" -c . | xz -T0 -6 >"$kit/kit.tar.xz"
  rm -rf "$place"
  du -h "$kit/kit.tar.xz"
}

unpacked() {
  if [ ! -d "$kit/site" ]; then
    tar -C "$kit" -xJf "$kit/kit.tar.xz"
    python3 -m pip install --quiet --disable-pip-version-check --no-index --no-deps --target "$kit/site" "$kit"/wheels/*.whl
  fi
  export PYTHONPATH="$kit/site:$root/bench" PATH="$kit/site/bin:$PATH"
}

# suite GPUS JOBS NAME TITLE SOURCE PATTERN …, out of `time_both`
suite() {
  local gpus=$1 jobs=$2 name=$3 title=$4 source=$5
  shift 5
  mkdir -p "$kit/kept/$name"
  REPLAY=$kit/kept/$name timeout "$seconds" python3 "$root/bench/suites.py" "$kit/$name" "$@" --source "$source" --mode bench \
    --gpus "$gpus" --jobs "$jobs" --seconds "$file_seconds" --pytest=-p --pytest=replay \
    --csv "$out/$name.csv" --out "$out/suites-$name.md" --title "$title" >"$out/$name.log" 2>&1 || true
}

time_both() {
  local out=$1 file_seconds=$2 seconds=$3 gpus each last others
  out=$(realpath -m "$out")
  mkdir -p "$out"
  gpus=$(nvidia-smi -L | wc -l) each=$(($(nproc) / gpus)) last=$((gpus - 1))
  others=$(seq -s, 0 $((gpus > 1 ? last - 1 : 0)))
  suite "$last" "$each" liger liger-kernel src "test/transformers/test_*.py" &
  [ "$gpus" -gt 1 ] || wait
  suite "$others" $((each * (gpus > 1 ? last : 1))) fla flash-linear-attention . "tests/modules/test_*.py" "tests/ops/test_*.py"
  wait
  tar -C "$kit/kept" -c . | xz -T0 -3 | split -b 15M - "$out/kept.tar.xz."
}

case $command in
  pack) pack "$@" ;;
  time) unpacked; time_both "$@" ;;
  python) unpacked; python3 "$@" ;;
  *) echo "kit.sh: no command $command" >&2 && exit 2 ;;
esac
