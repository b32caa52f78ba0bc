#!/usr/bin/env bash
# Other projects' test-suites on a machine that has PyTorch, Triton and GPUs, but neither a network nor these projects.
#
#   bench/kit.sh pack DIR LIGER FLA [TRITON]          here: the wheel of target/release/tritium, what pytest needs, and the checkouts, into DIR/kit.tar.xz
#   bench/kit.sh pass DIR OUT FILE_SECONDS SECONDS    there: both suites under TRITIUM=1, liger-kernel's on the last GPU and the other on the rest (in turn on one), into OUT
#   bench/kit.sh time DIR OUT FILE_SECONDS SECONDS    there: the same under TRITIUM=bench
#   bench/kit.sh check DIR OUT                        there, on one GPU: what a launch and a tuner cost, `torch.compile`, faults, programs of `tritium build`, into OUT
#   bench/kit.sh language DIR OUT SECONDS             there, on one GPU: Triton's own language tests, into OUT
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
  local liger=$1 fla=$2 triton=${3:-} place wheel
  place=$(mktemp -d)
  mkdir "$place/wheels" "$place/liger" "$place/fla"
  python3 -m pip download --quiet --no-deps --dest "$place/wheels" pytest pluggy iniconfig packaging pygments einops
  wheel=$(TRITIUM_BIN="$root/target/release/tritium" "$root/python/package.sh")
  stored "$wheel" "$place/wheels/$(basename "$wheel")"
  cp -r "$liger/src" "$liger/test" "$liger/pyproject.toml" "$place/liger"
  rm -rf "$place/liger/test/resources" "$place/liger/test/convergence"
  cp -r "$fla/fla" "$fla/tests" "$fla/scripts" "$fla/pyproject.toml" "$place/fla"
  if [ -n "$triton" ]; then
    mkdir "$place/triton"
    cp -r "$triton/python/test/conftest.py" "$triton/python/test/unit/language" "$place/triton"
    touch "$place/triton/pytest.ini"
    python3 "$root/bench/build.py" prepare "$place/programs" --tritium "$root/target/release/tritium"
    rm -rf "$place/programs/crate" "$place/programs/kernels"
  fi
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

# into OUT: the kit, unpacked, and the folder that results go into.
into() {
  unpacked
  out=$(realpath -m "$1")
  mkdir -p "$out"
}

# suite GPUS JOBS NAME TITLE SOURCE PATTERN …, out of `both`
suite() {
  local gpus=$1 jobs=$2 name=$3 title=$4 source=$5
  shift 5
  mkdir -p "$kit/kept/$name"
  REPLAY=$kit/kept/$name timeout "$seconds" python3 "$root/bench/suites.py" "$kit/$name" "$@" --source "$source" --mode "$mode" \
    --gpus "$gpus" --jobs "$jobs" --seconds "$file_seconds" ${kept:+--pytest=-p --pytest=replay} \
    --csv "$out/$name.csv" --out "$out/$result-$name.md" --title "$title" >"$out/$name.log" 2>&1 || true
}

# both MODE RESULT FILE_SECONDS SECONDS
both() {
  local mode=$1 result=$2 file_seconds=$3 seconds=$4 kept= gpus each last others
  [ "$mode" != bench ] || kept=yes
  gpus=$(nvidia-smi -L | wc -l) each=$(($(nproc) / gpus)) last=$((gpus - 1))
  others=$(seq -s, 0 $((gpus > 1 ? last - 1 : 0)))
  suite "$last" "$each" liger liger-kernel src "test/transformers/test_*.py" &
  [ "$gpus" -gt 1 ] || wait
  suite "$others" $((each * (gpus > 1 ? last : 1))) fla flash-linear-attention . "tests/modules/test_*.py" "tests/ops/test_*.py"
  wait
  [ -z "$kept" ] || tar -C "$kit/kept" -c . | xz -T0 -3 | split -b 15M - "$out/kept.tar.xz."
}

check() {
  # Times first, while nothing else runs.
  timeout 240 python3 "$root/bench/python_module.py" --out "$out/python-module.json" || true
  timeout 230 python3 -m pytest -q -p no:cacheprovider "$root"/python/tests/test_gpu_*.py 2>&1 | tee "$out/faults.txt" || true
  timeout 90 python3 "$root/bench/build.py" check "$kit/programs" --tritium "$(command -v tritium)" 2>&1 | tee "$out/programs.txt" || true
}

# Of the two files that have most tests a quarter, of the others all, side by side.
language() {
  local seconds=$1 half=$(($(nproc) / 2))
  tests core --of 4 "language/test_core.py" "language/test_conversions.py" &
  tests others --of 1 "language/test_comp*.py" "language/test_[!c]*.py"
  wait
}

# tests NAME ARGUMENT …, out of `language`
tests() {
  local name=$1
  shift
  timeout "$seconds" python3 "$root/bench/suites.py" "$kit/triton" "$@" --mode 1 --jobs "$half" --split "$half" --seconds 100 \
    --out "$out/language-$name.md" --title "Triton's language tests" >"$out/language-$name.log" 2>&1 || true
}

case $command in
  pack) pack "$@" ;;
  pass) into "$1"; both 1 tests "${@:2}" ;;
  time) into "$1"; both bench suites "${@:2}" ;;
  check) into "$1"; check ;;
  language) into "$1"; language "$2" ;;
  python) unpacked; python3 "$@" ;;
  *) echo "kit.sh: no command $command" >&2 && exit 2 ;;
esac
