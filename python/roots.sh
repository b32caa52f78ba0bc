#!/usr/bin/env bash
# Installs the wheel where nothing else is: in a bare Debian 12 and a bare Ubuntu 24.04 with no more than their Python and NumPy, no GPU and no Triton.
# There a softmax runs under `python -m tritium` on NumPy arrays, and the mistakes that are seeded beside it are found.
#
#   roots.sh fetch    gets the two systems with debootstrap, about two minutes and 250 MB each
#   roots.sh          installs python/dist/*.whl into an empty environment of each, and runs examples/test_softmax.py
#
# Needs root: debootstrap and chroot do.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/..
place=$root/.deps/roots

# Which Python each has.
systems=("debian12 3.11" "ubuntu2404 3.12")

bootstrap() {
  local fresh=$place/$1.new script=/usr/share/debootstrap/scripts
  rm -rf "$fresh"
  case $1 in
    debian12) debootstrap --variant=minbase --include=python3,python3-venv bookworm "$fresh" http://deb.debian.org/debian ;;
    # Debian's debootstrap may be older than this Ubuntu, whose script is that of all Ubuntus, and has no key of theirs.
    ubuntu2404) debootstrap --variant=minbase --no-check-gpg --components=main,universe --include=python3,python3-venv noble "$fresh" http://archive.ubuntu.com/ubuntu $script/gutsy ;;
  esac >"$place/$1.log" 2>&1 || { tail -5 "$place/$1.log" >&2; echo "$1 could not be fetched" >&2; return 1; }
  mv "$fresh" "$place/$1"
}

fetch() {
  mkdir -p "$place"
  if ! command -v debootstrap >/dev/null && ! [ -x /usr/sbin/debootstrap ]; then
    apt-get update -q >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends debootstrap >&2
  fi
  export PATH=$PATH:/usr/sbin
  local failed=0
  for system in "${systems[@]}"; do
    local name=${system% *}
    [ -d "$place/$name" ] || bootstrap "$name" || bootstrap "$name" || failed=1
  done
  return $failed
}

# pip on this machine fetches for the other's Python, so that nothing in there needs a network.
wheels() {
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: --python-version "$1" \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux2014_x86_64 --platform manylinux_2_12_x86_64 \
    --dest "$2" -r "$root/xtask/requirements/numpy.txt" -r "$root/xtask/requirements/python.txt"
  rm -f "$2"/maturin-*
  cp "$here"/dist/*.whl "$2"
}

try() {
  local name=$1 python=$2 inside=$place/$1
  rm -rf "$inside/opt/wheels" "$inside/opt/programs" "$inside/opt/environment"
  mkdir -p "$inside/opt/wheels" "$inside/opt/programs"
  wheels "$python" "$inside/opt/wheels"
  cp "$root/examples/test_softmax.py" "$inside/opt/programs"
  echo "$name: $(. "$inside/etc/os-release" && echo "$PRETTY_NAME"), $(chroot "$inside" python3 --version)"
  # The name of the process's program is asked of /proc.
  unshare --mount --pid --fork sh -euc '
    mount -t proc proc "$1/proc"
    exec chroot "$1" env -i PATH=/usr/bin:/bin HOME=/root sh -euc "
      python3 -m venv /opt/environment
      /opt/environment/bin/python -m pip install --quiet --no-index --find-links /opt/wheels tritium numpy pytest
      cd /opt/programs
      ! /opt/environment/bin/python -c \"import triton\" 2>/dev/null
      /opt/environment/bin/tritium --version
      /opt/environment/bin/python -m tritium -m pytest -q -p no:cacheprovider test_softmax.py
    "' sh "$inside"
}

fetch
[ "${1:-}" = fetch ] && exit 0
for system in "${systems[@]}"; do
  # shellcheck disable=SC2086  # two words
  try $system
done
