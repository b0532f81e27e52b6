import json

import pytest

from eval.bench import readings
from tasks.errors import InputError


def test_the_last_line_is_rate_and_memory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("FEW", 40), ("MANY", 400), ("ROUNDS", 1)):
        monkeypatch.setattr(readings, name, value)
    assert readings.run([]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["episodes"] == 400
    assert found["episodes_per_second"] > 20  # the figure itself is for a quiet machine
    assert found["rss_growth_mib"] < 20


def test_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="no arguments"):
        readings.run(["a"])
