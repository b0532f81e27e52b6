"""The start of `model: mini` is made by one process while others wait, and says that it is under way."""

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from train.mini_start import alone, told


def test_a_long_wait_is_told_again_and_again(capsys: pytest.CaptureFixture[str]) -> None:
    with told("it is being made", first=0.05, then=0.05):
        time.sleep(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 1
    assert lines[0] == "it is being made (0 s so far)"
    time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_a_short_wait_and_other_ranks_are_silent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with told("it is being made"):
        pass
    monkeypatch.setenv("RANK", "1")
    with told("it is being made", first=0.01):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_one_process_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    program = textwrap.dedent(f"""
        import tempfile
        tempfile.tempdir = {str(tmp_path)!r}
        from train.mini_start import alone
        print("waiting", flush=True)
        with alone("mini-7"):
            print("in", flush=True)
    """)
    with alone("mini-7"), alone("mini-8"):
        other = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        assert other.stdout is not None
        assert other.stdout.readline() == "waiting\n"
        time.sleep(0.3)
        assert other.poll() is None
    assert other.communicate(timeout=60)[0] == "in\n"
