"""When2Call (arXiv 2504.18851) as tasks: the hub data set `nvidia/When2Call`, or files in its formats."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tasks.errors import InputError
from tasks.json_lines import read_rows
from tasks.tool_task import TaskSet, ToolTask
from tasks.when2call_row import UnusableRow, parse_row

__all__ = ["Config", "UnusableRow", "load", "parse_row"]


@dataclass(frozen=True, slots=True)
class Config:
    """Keys of a recipe's `task:` section for `use: when2call`."""

    train: Path | None = None
    """A local JSONL file of training rows; without it the hub's `subset` is read."""
    test: Path | None = None
    """A local JSONL file of test rows; without it the hub's `test_subset` is read."""
    dataset: str = "nvidia/When2Call"
    subset: Literal["train_pref", "train_sft"] = "train_pref"
    test_subset: Literal["mcq", "llm_judge"] = "mcq"
    revision: str | None = None
    """Commit, branch or tag of the hub data set."""
    limit: int | None = None
    """Use only the first rows of each split."""

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise InputError(f"limit is {self.limit}; use at least 1 row, or leave it out for all")


def load(config: Config, split: Literal["train", "test"], seed: int) -> TaskSet:
    """Read a split in file order; rows that cannot be used are skipped and counted by reason (`skipped_…`).

    Raises InputError on a missing file, an empty or malformed row (with file and row number), a data set that
    cannot be reached, test rows made from BFCL live given as training rows, and a split with no usable row.
    """
    del seed  # nothing here is random
    path = config.train if split == "train" else config.test
    source, rows, digest = _from_file(path) if path else _from_hub(config, split)
    counts: Counter[str] = Counter()
    tasks: list[ToolTask] = []
    for number, row in rows:
        where = f"{source}, row {number}"
        if split == "train" and _is_bfcl_test(row):
            raise InputError(
                f"{where}: this is a When2Call test row (made from BFCL live), given as task.train; "
                "train on rows in the format of train_pref or train_sft"
            )
        try:
            task = parse_row(row, where)
        except UnusableRow as unusable:
            counts[f"skipped_{unusable.reason}"] += 1
            continue
        tasks.append(task)
        counts["kept"] += 1
        if "correct_answer" not in row:
            counts[f"derived_{task.gold}"] += 1
        if config.limit is not None and len(tasks) == config.limit:
            break
    if not tasks:
        raise InputError(f"{source}: no usable row ({dict(counts) or 'the file is empty'})")
    return TaskSet(tuple(tasks), dict(counts), {source: digest})


def _is_bfcl_test(row: Mapping[str, Any]) -> bool:
    marks = (str(row.get("source", "")).upper(), str(row.get("source_id", "")).upper())
    return "BFCL" in marks[0] or marks[1].startswith("LIVE_")


def _from_file(path: Path) -> tuple[str, Iterator[tuple[int, dict[str, Any]]], str]:
    rows = list(read_rows(path))  # names a file that is missing, empty or malformed
    return str(path), iter(rows), hashlib.sha256(path.read_bytes()).hexdigest()


def _from_hub(config: Config, split: str) -> tuple[str, Iterator[tuple[int, dict[str, Any]]], str]:
    from datasets import load_dataset

    name, part = (config.subset, "train") if split == "train" else ("test", config.test_subset)
    source = f"{config.dataset}, {name}/{part}"
    try:
        data = load_dataset(config.dataset, name, split=part, revision=config.revision)
    except Exception as error:  # the hub client raises a dozen unrelated types, all meaning "not to be had"
        cause = f"{type(error).__name__}: {str(error).split(chr(10))[0][:160]}"
        raise InputError(
            f"{source}: cannot be loaded from the hub ({cause}); give a local file as task.{split}"
        ) from None
    rows = [{key: value for key, value in row.items() if value is not None} for row in data]
    digest = hashlib.sha256("\n".join(json.dumps(row, sort_keys=True) for row in rows).encode()).hexdigest()
    return source, iter(enumerate(rows, 1)), digest
