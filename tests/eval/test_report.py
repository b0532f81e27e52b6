import json
from pathlib import Path
from typing import Any

import pytest

from eval.report import Report, Sample, write
from tasks.completion import Action


def sample(gold: Action, action: Action, **change: Any) -> Sample:
    values = {
        "id": "x", "gold": gold, "action": action, "well_formed": True, "problem": "", "exact": None,
        "certainty": None, "tools": 1, "tokens": 10, "stop": "stop", "text": "t",
    }  # fmt: skip
    return Sample(**{**values, **change})


REPORT = Report(
    (
        sample("tool_call", "tool_call", exact=True, certainty=0.9),
        sample("tool_call", "tool_call", exact=False, certainty=0.6, stop="length", well_formed=False),
        sample("request_for_info", "tool_call", exact=False, certainty=0.1),
        sample("request_for_info", "request_for_info"),
        sample("cannot_answer", "tool_call", exact=False, certainty=0.0, tools=0),
        sample("cannot_answer", "direct", tools=2),
        sample("cannot_answer", "cannot_answer", tools=0),
    )
)


def test_readings() -> None:
    assert REPORT.classes == ("tool_call", "request_for_info", "cannot_answer")
    assert REPORT.accuracy == pytest.approx(4 / 7)
    assert REPORT.recall == pytest.approx({"tool_call": 1.0, "request_for_info": 0.5, "cannot_answer": 1 / 3})
    assert REPORT.macro_f1 == pytest.approx((4 / 6 + 2 / 3 + 2 / 4) / 3)
    assert REPORT.confusion == [[2, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 1], [0, 0, 0, 0]]
    assert REPORT.hallucinated_missing == 0.5
    assert REPORT.hallucinated_unfit == pytest.approx(1 / 3)
    assert REPORT.hallucinated_no_tool == 0.5
    assert REPORT.exact_calls == 0.5
    assert REPORT.calibration.n == 4
    assert REPORT.calibration.brier == pytest.approx((0.01 + 0.36 + 0.01) / 4)
    assert REPORT.calibration.auroc == 1.0
    shares = REPORT.to_dict()
    assert shares["well_formed"] == pytest.approx(6 / 7)
    assert shares["cut_at_budget"] == pytest.approx(1 / 7)
    assert shares["mean_tokens"] == 10


def test_shares_over_nothing_are_none() -> None:
    report = Report((sample("tool_call", "direct"),))
    assert report.hallucinated_no_tool is None
    assert report.to_dict()["hallucinated_call_rate"]["missing_argument"] is None
    assert report.calibration.n == 0
    assert "| calls without any tool | – |" in report.markdown()


def test_the_table_names_n_and_every_gold_class() -> None:
    table = REPORT.markdown()
    assert "| n | 7 |" in table
    assert "| cannot_answer | 1 | 0 | 1 | 1 | 0.333 |" in table
    assert "| direct |" not in table.split("recall")[1]


def test_the_folder(tmp_path: Path) -> None:
    write(REPORT, tmp_path, settings={"model": "m"}, data={"counts": {"kept": 7}})
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["report"] == json.loads(json.dumps(REPORT.to_dict()))
    assert results["settings"] == {"model": "m"}
    assert len((tmp_path / "samples.jsonl").read_text().splitlines()) == 7
    assert (tmp_path / "confusion.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "results.md").read_text() == REPORT.markdown()
