"""The benchmark of a step compares like with like and ends with its JSON line."""

import json
from pathlib import Path

import pytest

from tasks.errors import InputError
from train import mini_model
from train.bench import grpo


@pytest.mark.slow
def test_both_trainers_sample_the_same_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start = mini_model.build(mini_model.WarmStart(steps=2, rows=64, batch=8), tmp_path)
    monkeypatch.setattr("train.models.locate", lambda *_: str(start))
    monkeypatch.setattr(grpo, "ROUNDS", 1)
    monkeypatch.setattr(grpo, "WARMUP", 0)
    small = {"max_steps": 3, "per_device_train_batch_size": 8, "max_completion_length": 8}
    monkeypatch.setitem(grpo.RECIPE, "trainer", grpo.RECIPE["trainer"] | small)
    tokens = []
    timed = grpo._step_seconds

    def observed(trainer):
        seconds = timed(trainer)
        tokens.append([log["num_tokens"] for log in trainer.state.log_history if "num_tokens" in log])
        return seconds

    monkeypatch.setattr(grpo, "_step_seconds", observed)
    assert grpo.run([]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["steps"] == 2
    assert result["step_ratio"] > 0
    ours, theirs = tokens
    assert len(ours) == 3
    assert ours == theirs


def test_it_takes_no_arguments() -> None:
    with pytest.raises(InputError, match="takes no arguments, not fast"):
        grpo.run(["fast"])
