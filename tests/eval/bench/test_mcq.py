import json
from typing import Any

import pytest

from eval.bench import OWN_ROWS, mcq
from tasks.errors import InputError


@pytest.mark.slow
def test_the_last_line_is_the_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("lm_eval")
    monkeypatch.setattr(mcq, "ROWS", 2)
    monkeypatch.setattr(mcq, "ROUNDS", 1)
    assert mcq.run([str(OWN_ROWS)]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["rows"] == 2
    assert result["lm_eval_over_ours"] > 1
    assert 1 < result["token_ratio"] < 4


def test_sides_that_disagree_are_no_comparison() -> None:
    mcq._agree([[-1.0, -2.0]], [[-1.000001, -2.0]])
    with pytest.raises(RuntimeError, match="did not do the same work"):
        mcq._agree([[-1.0, -2.0]], [[-1.0, -2.1]])


@pytest.mark.parametrize("arguments", [["a", "b"], ["nowhere.jsonl"]])
def test_bad_arguments_are_one_clear_error(arguments: list[Any]) -> None:
    with pytest.raises(InputError):
        mcq.run(arguments)
