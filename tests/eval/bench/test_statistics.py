import json
import subprocess
import sys

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
    assert 0 <= found["peak_rss_mib"] < 256
    assert found["resamples"] == 150_000
    assert found["scipy_over_ours"] > 0  # the figure itself is for a quiet machine


def test_the_high_water_mark_is_of_the_process_itself() -> None:
    """The parent's memory does not hide what the child takes."""
    held = bytearray(400 << 20)
    code = (
        "from eval.peak_memory import high_water as mark; before = mark(); "
        "held = b'1' * (100 << 20); print(before, mark() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, grown = map(float, done.stdout.split())
    assert before < len(held) >> 20
    assert 99 < grown < 110


def test_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="no arguments"):
        statistics.run(["a"])
