"""metrics.jsonl: one JSON object for each step that the trainer logged; appended to, cut back on resume."""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.atomic import write_text
from tasks.plain import plain as plain_values

# What the observer adds to a run directory.
METRICS, TRANSCRIPTS, PLOTS, SUMMARY = "metrics.jsonl", "transcripts", "plots", "summary.json"
Record = dict[str, Any]


def append(path: Path, record: Mapping[str, Any]) -> None:
    """Add one line. What is not JSON becomes null (NaN, infinity) or text: any reader can read the file."""
    line = json.dumps(plain(record), ensure_ascii=False, allow_nan=False) + "\n"
    with path.open("a", encoding="utf-8", errors="replace") as file:
        file.write(line)


def records(path: Path) -> list[Record]:
    """The lines of a metrics file in order; none if it is absent. A line cut off by a kill is passed over."""
    if not path.is_file():
        return []
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and isinstance(record.get("step"), int):
            found.append(record)
    return found


def forget_after(folder: Path, step: int) -> None:
    """Drop the metrics and transcripts after `step`, which a resumed run writes again."""
    path = folder / METRICS
    if path.is_file():
        kept = [record for record in records(path) if record["step"] <= step]
        write_text(path, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in kept))
    for page in (folder / TRANSCRIPTS).glob("step-*.md"):
        number = re.fullmatch(r"step-(\d+)", page.stem)
        if number and int(number[1]) > step:
            page.unlink()


def plain(value: Any) -> Any:
    """The value as JSON knows it."""
    return plain_values(value, _json_scalar)


def _json_scalar(value: Any) -> Any:
    if hasattr(value, "item"):  # scalars of torch and numpy
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool | None) else str(value)
