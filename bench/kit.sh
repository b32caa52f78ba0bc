#!/usr/bin/env bash
# Other projects' test-suites on a machine that has PyTorch, Triton and GPUs, but neither a network nor these projects.
#
#   bench/kit.sh pack DIR LIGER FLA     here: the wheel of target/release/tritium, what pytest needs, and both checkouts, into DIR/kit.tar.xz
#   bench/kit.sh install DIR            there: the wheels into /tmp/site, the checkouts into /tmp/suites
#   bench/kit.sh time DIR OUT FILE_SECONDS SECONDS    there: both suites under TRITIUM=bench, one on each GPU (in turn on one), into OUT
#
# Launches slower than `REPLAY_BELOW` are kept for `bench/replay.py`: `cat OUT/kept.tar.xz.* | tar -xJ`.
set -euo pipefail
command=$1 kit=$(realpath -m "$2")
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
  mkdir -p "$kit"
  place=$(mktemp -d)
  mkdir "$place/wheels" "$place/liger" "$place/fla"
  python3 -m pip download --quiet --no-deps --dest "$place/wheels" pytest pluggy iniconfig packaging pygments einops
  wheel=$(PYTHONPATH="$root/.deps/python" PATH="$root/.deps/python/bin:$PATH" TRITIUM_BIN="$root/target/release/tritium" "$root/python/package.sh")
  stored "$wheel" "$place/wheels/$(basename "$wheel")"
  cp -r "$1/src" "$1/test" "$1/pyproject.toml" "$place/liger"
  rm -rf "$place/liger/test/resources" "$place/liger/test/convergence"
  cp -r "$2/fla" "$2/tests" "$2/scripts" "$2/pyproject.toml" "$place/fla"
  tar -C "$place" -c . | xz -T0 -6 >"$kit/kit.tar.xz"
  rm -rf "$place"
  du -h "$kit/kit.tar.xz"
}

install() {
  mkdir -p /tmp/suites
  tar -C /tmp/suites -xJf "$kit/kit.tar.xz"
  python3 -m pip install --quiet --disable-pip-version-check --no-index --no-deps --target /tmp/site /tmp/suites/wheels/*.whl
}

# Name, source folder, pattern of tests.
suite() {
  mkdir -p "/tmp/kept/$1"
  CUDA_VISIBLE_DEVICES=$5 REPLAY=/tmp/kept/$1 timeout "$seconds" python3 "$root/bench/suites.py" "/tmp/suites/$1" $3 --source "$2" --mode bench \
    --jobs "$jobs" --seconds "$file_seconds" --pytest=-p --pytest=replay --csv "$out/$1.csv" --out "$out/suites-$1.md" --title "$4" >"$out/$1.log" 2>&1 || true
}

time_both() {
  out=$(realpath -m "$1") file_seconds=$2 seconds=$3
  mkdir -p "$out"
  export PYTHONPATH="/tmp/site:$root/bench" PATH="/tmp/site/bin:$PATH"
  gpus=$(nvidia-smi -L | wc -l)
  jobs=$(($(nproc) / (gpus > 1 ? 2 : 1)))
  if [ "$gpus" -gt 1 ]; then
    suite liger src "test/transformers/test_*.py" liger-kernel 0 &
    suite fla . "tests/modules/test_*.py tests/ops/test_*.py" flash-linear-attention 1
    wait
  else
    suite liger src "test/transformers/test_*.py" liger-kernel 0
    suite fla . "tests/modules/test_*.py tests/ops/test_*.py" flash-linear-attention 0
  fi
  tar -C /tmp/kept -c . | xz -T0 -3 | split -b 15M - "$out/kept.tar.xz."
}

shift 2
case $command in
  pack) pack "$@" ;;
  install) install ;;
  time) time_both "$@" ;;
  *) echo "kit.sh: no command $command" >&2 && exit 2 ;;
esac
