import json

import pytest

from eval.bench import rewards
from tasks.errors import InputError


def test_the_last_line_is_the_rate(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(rewards, "ROUNDS", 1)
    monkeypatch.setattr(rewards, "REPEATS", 2)
    monkeypatch.setenv("ASKRL_SHARED", str(tmp_path))
    assert rewards.run([]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["rows"] == 40
    assert found["file"] == "self_test.jsonl"
    assert found["completions_per_second"] > 2_000  # the figure itself is for a quiet machine


def test_more_than_one_file_is_refused():
    with pytest.raises(InputError, match="one file"):
        rewards.run(["a", "b"])
