"""Benchmarks of speed: `askrl bench NAME` runs `eval.bench.NAME.run`, whose last line is one JSON object."""

import os
from collections.abc import Sequence
from pathlib import Path

from tasks.errors import InputError

OWN_ROWS = Path(__file__).parents[2] / "tasks" / "data" / "self_test.jsonl"


def rows_file(name: str, arguments: Sequence[str]) -> Path:
    """The file of test rows that benchmark `name` measures on: its argument, else real rows, else our own.

    Real When2Call rows are looked for in `data/when2call/test_llm_judge.jsonl` of ASKRL_SHARED or of the
    folder `shared` beside the checkout. Raises InputError for more than one argument.
    """
    if len(arguments) > 1:
        raise InputError(f"askrl bench {name} takes one file of test rows, not {' '.join(arguments)}")
    if arguments:
        return Path(arguments[0])
    shared = Path(os.environ.get("ASKRL_SHARED") or Path(__file__).parents[3] / "shared")
    file = shared / "data" / "when2call" / "test_llm_judge.jsonl"
    return file if file.is_file() else OWN_ROWS
