"""The rows of a stage: read from an export, checked, selected and weighed."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.errors import InputError
from tasks.json_lines import read_rows
from train.imitate import Config as Imitate
from train.lineage import file_digest
from train.prefer import Config as Prefer

if TYPE_CHECKING:
    from datasets import Dataset

TURNS = {"imitation": ("completion",), "pairs": ("chosen", "rejected")}
"""The columns of what the assistant says, by the name of the file."""
TEMPLATE = "chat_template_kwargs"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows in TRL's conversational format with a `weight` each; how many of which kind; the file's hash."""

    data: "Dataset"
    counts: Mapping[str, int]
    hashes: Mapping[str, str]


def imitation(config: Imitate) -> Rows:
    """All rows of imitation. Raises InputError for what is no such file."""
    file = find(config.data, "imitation")
    rows = read(file, "imitation")
    counts = Counter(str(kind) for kind in rows["kind"]) if "kind" in rows.column_names else Counter()
    return Rows(_bare(rows, "imitation"), dict(sorted(counts.items())), {file.name: file_digest(file)})


def pairs(config: Prefer) -> Rows:
    """The pairs that the recipe selects, weighed as it says. Raises InputError where there are none."""
    file = find(config.data, "pairs")
    rows = read(file, "pairs", ("kind", "reason"))
    marks = list(zip(rows["kind"], rows["reason"], strict=True))
    try:
        kept = select(marks, config)
        weights = shared([marks[i] for i in kept], rows.select(kept)["weight"], config.stop_done_share)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    selected = _bare(rows.select(kept), "pairs").remove_columns("weight").add_column("weight", weights)
    return Rows(selected, counted(marks[i] for i in kept), {file.name: file_digest(file)})


def select(marks: Sequence[tuple[str, str]], config: Prefer) -> list[int]:
    """Which pairs, given as (kind, reason), are taken. Raises InputError, with the counts, for none."""
    kept = [
        i
        for i, (kind, reason) in enumerate(marks)
        if kind in config.kinds and reason not in config.exclude_reasons
    ]
    if not kept:
        there = ", ".join(f"{number} {name}" for name, number in counted(marks).items()) or "none at all"
        less = f" less exclude_reasons {_list(config.exclude_reasons)}" if config.exclude_reasons else ""
        raise InputError(f"no pair is of kinds {_list(config.kinds)}{less}; it holds {there}")
    return kept


def shared(marks: Sequence[tuple[str, str]], weights: Sequence[float], share: float | None) -> list[float]:
    """The weights, with stops won because all was in hand as `share` of the weight on all stop contrasts."""
    if share is None:
        return list(weights)
    contrast = [kind != "ask_ask" for kind, _ in marks]
    done = [reason == "stop_done" for _, reason in marks]
    stops = math.fsum(w for w, mine in zip(weights, done, strict=True) if mine)
    asks = math.fsum(w for w, any_, mine in zip(weights, contrast, done, strict=True) if any_ and not mine)
    if not stops or not asks:
        side = "none that STOP won because all was in hand" if not stops else "only such that STOP won"
        told = ", ".join(f"{number} {name}" for name, number in counted(marks).items())
        raise InputError(
            f"stop_done_share {share:g} needs pairs of an ask and a STOP of both directions, and there are "
            f"{side}; it holds {told}"
        )
    up, down = share * (stops + asks) / stops, (1.0 - share) * (stops + asks) / asks
    return [
        w * (up if mine else down if any_ else 1.0)
        for w, any_, mine in zip(weights, contrast, done, strict=True)
    ]


def counted(marks: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Pairs by kind and what decided: {"ask_ask (outcome)": 3, ...}."""
    return dict(sorted(Counter(f"{kind} ({reason})" for kind, reason in marks).items()))


def find(data: Path | None, name: str) -> Path:
    """The file of an export: the one given, or `name`.parquet or .jsonl of the folder."""
    if data is None:
        raise InputError("data is not given; set data=FOLDER, the folder that `askrl export` made")
    if data.is_file():
        return data
    for file in (data / f"{name}.parquet", data / f"{name}.jsonl"):
        if file.is_file():
            return file
    raise InputError(f"data: {data} holds no {name}.parquet or {name}.jsonl; run `askrl export` into it")


def read(file: Path, name: str, marks: Sequence[str] = ()) -> "Dataset":
    """The rows of a file, every one of them checked. Raises InputError, naming the row, for what is none."""
    wanted = ("prompt", *TURNS[name], "weight", *marks)
    rows = _parquet(file) if file.suffix == ".parquet" else _json_lines(file)
    absent = [column for column in wanted if column not in rows.column_names]
    if absent:
        raise InputError(
            f"{file}: no {name} of an export: it has no column {_list(absent)}; columns: "
            f"{', '.join(rows.column_names)}"
        )
    if not len(rows):
        raise InputError(f"{file}: no rows; export records that give some")
    for number, row in enumerate(rows, start=1):
        if told := _fault(row, ("prompt", *TURNS[name]), marks):
            raise InputError(f"{file}, row {number}: {told}")
    return rows


def _parquet(file: Path) -> "Dataset":
    import pyarrow
    import pyarrow.parquet as pq
    from datasets import Dataset

    try:
        pq.read_schema(file)
        return Dataset.from_parquet(str(file))
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"{file}: not a Parquet file ({str(error).splitlines()[0]})") from error


def _json_lines(file: Path) -> "Dataset":
    import pyarrow
    from datasets import Dataset

    if not file.stat().st_size:
        raise InputError(f"{file}: no rows; export records that give some")
    rows = []
    for number, row in read_rows(file):
        if isinstance(row.get("weight"), int) and not isinstance(row["weight"], bool):
            row["weight"] = float(row["weight"])
        if not isinstance(row.get("weight"), float):
            raise InputError(f"{file}, row {number}: weight is {json.dumps(row.get('weight'))}, no number")
        rows.append(row)
    try:
        return Dataset.from_list(rows)
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"{file}: rows of different shapes ({str(error).splitlines()[0]})") from error


def _fault(row: Mapping[str, Any], turns: Sequence[str], marks: Sequence[str]) -> str:
    for name in turns:
        messages = row[name]
        if not isinstance(messages, list) or not messages or not all(map(_is_message, messages)):
            return f"{name} is no list of messages with role and content"
    weight = row["weight"]
    if not isinstance(weight, float) or not math.isfinite(weight) or weight <= 0.0:
        return f"weight is {weight!r}; it is a number above 0"
    for name in marks:
        if not isinstance(row[name], str):
            return f"{name} is {row[name]!r}, no text"
    if TEMPLATE in row and not isinstance(row[TEMPLATE], dict):
        return f"{TEMPLATE} is {row[TEMPLATE]!r}; it is a mapping, in all rows or in none"
    return ""


def _is_message(message: object) -> bool:
    return isinstance(message, dict) and all(isinstance(message.get(key), str) for key in ("role", "content"))


def _bare(rows: "Dataset", name: str) -> "Dataset":
    """Only what a trainer reads."""
    wanted = ("prompt", *TURNS[name], "weight", TEMPLATE)
    return rows.select_columns([column for column in wanted if column in rows.column_names])


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
