#!/usr/bin/env bash
# Builds the wheel, installs it into an environment of its own, and runs the tests of the Python module there: without Triton, without a GPU.
#
# TRITIUM_BIN names the program to put inside; without it the release program is built. Further words go to pytest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
most_bytes=$((60 << 20))

export PYTHONPATH="$root/.deps/python:$root/.deps/numpy"
wheel=$("$here/package.sh")
bytes=$(stat -c %s "$wheel")
echo "$(basename "$wheel"): $((bytes >> 20)) MB"
if [ "$bytes" -gt "$most_bytes" ]; then
  echo "the wheel has more than $((most_bytes >> 20)) MB" >&2
  exit 1
fi

# An environment of its own, with NumPy, pytest and ptxas from .deps.
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv --without-pip "$place"
python=$place/bin/python
python3 -m pip --python "$python" install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"
# The program came along.
"$place/bin/tritium" --version
cd "$root"
TRITON_PTXAS_PATH="$root/.deps/ptxas/nvidia/cu13/bin/ptxas" PYTHONDONTWRITEBYTECODE=1 "$python" -m tritium -m pytest -q -p no:cacheprovider python/tests examples/test_softmax.py "$@"
