import logging
import time
from pathlib import Path

import pytest

from train.readings import shares
from train.watchdog import Watchdog


def test_seconds_are_counted_by_the_innermost_phase(tmp_path: Path) -> None:
    watchdog = Watchdog(None, 0, tmp_path)
    with watchdog.phase("generation"):
        time.sleep(0.05)
        with watchdog.phase("sync"):
            time.sleep(0.1)
    seconds = watchdog.read()
    assert seconds["generation"] == pytest.approx(0.05, abs=0.04)
    assert seconds["sync"] == pytest.approx(0.1, abs=0.04)
    assert watchdog.read().keys() == {"update"}


def test_a_phase_that_fails_is_left(tmp_path: Path) -> None:
    watchdog = Watchdog(None, 0, tmp_path)
    with pytest.raises(KeyError), watchdog.phase("rewards"):
        raise KeyError
    assert watchdog.read().keys() == {"update", "rewards"}
    assert watchdog.read().keys() == {"update"}


def test_a_stall_is_told_once_with_rank_phase_and_stacks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watchdog = Watchdog(0.2, 3, tmp_path)
    with caplog.at_level(logging.ERROR), watchdog.phase("generation"):
        stall_here(1.0)
    watchdog.stop()
    (record,) = caplog.records
    assert "rank 3: nothing has moved for" in record.getMessage()
    assert "phase 'generation'" in record.getMessage()
    assert "stall_here" in (tmp_path / "stacks-rank3.txt").read_text()


def stall_here(seconds: float) -> None:
    time.sleep(seconds)


def test_beats_keep_it_quiet(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    watchdog = Watchdog(0.4, 0, tmp_path)
    for _ in range(12):
        time.sleep(0.1)
        watchdog.beat()
    watchdog.stop()
    assert not caplog.records
    assert not list(tmp_path.iterdir())


def test_shares_of_the_time() -> None:
    assert shares({"generation": 3.0, "update": 1.0}) == {
        "time/generation": 0.75,
        "time/update": 0.25,
        "idle_share": 0.25,
    }
    assert shares({}) == {}
