"""metrics.jsonl is appended to, readable by anyone, and cut back to the checkpoint on resume."""

import json
from pathlib import Path

import numpy as np
import torch

from train.metrics_log import append, forget_after, plain, records


def test_what_is_not_json_becomes_null_or_text(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    odd = {
        "step": 1, "nan": float("nan"), "inf": float("inf"), "tensor": torch.tensor(0.5),
        "numpy": np.float64("nan"), "path": Path("a"), "none": None, "list": (1, float("-inf")),
        "nested": {2: {"a": np.int64(3)}}, "flag": True, "text": "\ud800",
    }  # fmt: skip
    append(path, odd)
    (line,) = path.read_text().splitlines()
    assert json.loads(line, parse_constant=lambda name: 1 / 0) == {
        "step": 1, "nan": None, "inf": None, "tensor": 0.5, "numpy": None, "path": "a", "none": None,
        "list": [1, None], "nested": {"2": {"a": 3}}, "flag": True, "text": "?",
    }  # fmt: skip
    assert plain("x") == "x"


def test_a_resumed_run_writes_no_step_twice(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    for step in (5, 10, 15):
        append(path, {"step": step})
    with path.open("a") as file:
        file.write('{"step": 20, "loss": 0.')  # killed here
    (tmp_path / "transcripts").mkdir()
    for name in ("step-000005.md", "step-000010.md", "step-000015.md", "mine.md", "step-notes.md"):
        (tmp_path / "transcripts" / name).write_text("x")
    forget_after(tmp_path, 10)
    append(path, {"step": 15})
    assert [record["step"] for record in records(path)] == [5, 10, 15]
    assert {page.name for page in (tmp_path / "transcripts").iterdir()} == {
        "step-000005.md", "step-000010.md", "mine.md", "step-notes.md",
    }  # fmt: skip


def test_a_cut_line_does_not_swallow_the_next(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 5}\n{"step": 10, "lo')
    forget_after(tmp_path, 10)
    append(tmp_path / "metrics.jsonl", {"step": 10})
    assert (tmp_path / "metrics.jsonl").read_text() == '{"step": 5}\n{"step": 10}\n'


def test_nothing_there_is_nothing_to_forget(tmp_path: Path) -> None:
    forget_after(tmp_path, 0)
    assert records(tmp_path / "metrics.jsonl") == []
    assert list(tmp_path.iterdir()) == []


def test_lines_that_are_no_records_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "m").write_text('[]\n{"loss": 1}\n{"step": "1"}\n\n{"step": 2}\n')
    assert records(tmp_path / "m") == [{"step": 2}]
