"""The watchdog during generation: it speaks where something stands, and nowhere else. No engine is needed."""

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rollout.converse import Start
from rollout.environments import Environment
from rollout.generators import Generation, Request, Sampling
from rollout.generators.protocol import OnDone
from rollout.generators.scripted import Scripted
from tasks import sources
from tasks.tool_task import Message
from train import mini_model
from train.rollouts import Rollouts
from train.watchdog import Watchdog

WORDS = mini_model.tokenizer()
LIMIT, PAUSE = 1.5, 0.5


class Slow(Scripted):
    """Takes its time for each turn, less than a watchdog waits."""

    def __init__(self) -> None:
        super().__init__(lambda _: [20, WORDS.eos_token_id])

    async def generate(
        self, requests: Sequence[Request], sampling: Sampling, on_done: OnDone | None = None
    ) -> list[Generation]:
        time.sleep(PAUSE)
        return await super().generate(requests, sampling, on_done)


def rollouts(tmp_path: Path, generator: Any, central: bool = False, turns: int = 0) -> Rollouts:
    (task, *_) = sources.load({"use": "mini", "train_rows": 4}, "train", 0).tasks
    environment = None
    if turns:
        again: list[Message] = [{"role": "user", "content": "again"}]
        environment = Environment(lambda _, said: again if len(said) < turns else None, max_turns=turns)
    made = Rollouts(
        generator, [Start(task, (5, 6, 7))], WORDS, environment, Sampling(400), 0, tmp_path / "published",
        Watchdog(LIMIT, 1, tmp_path), central=central,
    )  # fmt: skip
    made.attach(SimpleNamespace(accelerator=SimpleNamespace(is_main_process=False, process_index=1)))  # type: ignore[arg-type]
    return made


def test_each_turn_of_a_dialogue_is_a_beat(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = rollouts(tmp_path, Slow(), turns=8)
    began = time.monotonic()
    with made.watchdog.phase("generation"):
        (dialogue,) = made._generate([(0, 1)])
    made.watchdog.stop()
    assert time.monotonic() - began > 2 * LIMIT
    assert len(dialogue.turns()) == 8
    assert not caplog.records


@pytest.mark.parametrize("waits", [True, False])
def test_a_rank_that_waits_for_rank_0_leaves_the_word_to_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    made = rollouts(tmp_path, None, central=True)

    def stands(answers: list[Any]) -> None:
        time.sleep(2.5 * LIMIT)
        answers[:] = [["of rank 0", "of rank 1"]]

    monkeypatch.setattr("accelerate.utils.gather_object", lambda wanted: [*wanted, *wanted])
    monkeypatch.setattr("accelerate.utils.broadcast_object_list", stands)
    with caplog.at_level(logging.ERROR), made.watchdog.phase("generation"):
        if waits:
            assert made._generate([(0, 1)]) == ["of rank 1"]  # type: ignore[comparison-overlap]
        else:  # what it would say of anything else that stands as long
            stands([])
    made.watchdog.stop()
    assert len(caplog.records) == (0 if waits else 1)
