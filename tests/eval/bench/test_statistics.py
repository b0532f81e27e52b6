import json

import pytest

from eval.bench import statistics
from tasks.errors import InputError


def test_the_last_line_compares_with_scipy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(statistics, "ROUNDS", 1)
    assert statistics.run([]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["equal"] is True
    assert found["peak_rss_mib"] < 256
    assert found["resamples"] == 150_000
    assert found["scipy_over_ours"] > 0  # the figure itself is for a quiet machine


def test_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="no arguments"):
        statistics.run(["a"])
