"""Recipes under their launchers, on the CPU."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

RECIPES = Path(__file__).parents[2] / "recipes"
BIN = Path(sys.executable).parent


def start(ranks: int, recipe: Path, arguments: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
    """Start a recipe in the folder of `log`, which takes all that it says."""
    many = ["accelerate", "launch", "--multi_gpu", "--num_processes", str(ranks)]
    variables = {
        **os.environ,
        "PATH": f"{BIN}:{os.environ['PATH']}",
        "PYTHONPATH": str(RECIPES.parent),
        "HF_HOME": str(log.parent),
    }
    with log.open("wb") as said:
        return subprocess.Popen(
            [*(many if ranks > 1 else ["python"]), str(recipe), *arguments],
            env=variables | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
            cwd=log.parent,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
