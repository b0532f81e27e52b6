"""The benchmark of rollouts does the same work in both forms and measures what it says."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rollout.generators import Generation, GenerationError, Request, Sampling
from rollout.generators.scripted import Scripted
from tasks.errors import InputError
from train.bench import rollout

TINY = {
    "vocab_size": rollout.VOCABULARY, "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 8192,
}  # fmt: skip


class Slow(Scripted):
    """Takes as long as it writes; notes what it was asked and how many were alive."""

    def __init__(self, tick: float = 0.0) -> None:
        super().__init__(lambda request: [len(request.prompt_ids) % 7] * 200)
        self.tick, self.asked, self.alive, self.most = tick, list[tuple[Request, int]](), 0, 0

    async def generate(
        self, requests: Sequence[Request], sampling: Sampling, on_done: Any = None
    ) -> list[Generation]:
        self.asked += [(request, sampling.max_new_tokens) for request in requests]
        self.alive += 1
        self.most = max(self.most, self.alive)
        await asyncio.sleep(self.tick * sampling.max_new_tokens)
        self.alive -= 1
        return await super().generate(requests, sampling, on_done)


def test_turns_are_geometric_with_the_stated_mean_and_lengths_in_bounds() -> None:
    work = rollout.dialogues(4000, seed=1)
    turns = [len(lengths) for lengths in work]
    assert sum(turns) / len(turns) == pytest.approx(4, abs=0.2)
    assert sum(number == 1 for number in turns) / len(turns) == pytest.approx(0.25, abs=0.03)
    lengths = sorted(length for one in work for length in one)
    assert (lengths[0], lengths[-1]) == (4, 200)
    assert 30 <= lengths[len(lengths) // 2] <= 34
    assert rollout.dialogues(4000, seed=1) == work


def test_both_forms_ask_for_the_same_turns_and_one_of_them_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout, "CONCURRENCY", 8)
    work = rollout.dialogues(20, seed=0)
    found = []
    for form in (rollout.asynchronous, rollout.lockstep):
        engine = Slow()
        asyncio.run(form(rollout.Busy(engine), work, 5))
        assert engine.most == 8
        found.append(sorted((request.prompt_ids, length) for request, length in engine.asked))
    assert found[0] == found[1]
    assert len(found[0]) == sum(map(len, work))


def test_busy_is_the_time_with_something_under_way() -> None:
    """Two that overlap count once; the pause between does not count."""

    async def turns(busy: rollout.Busy) -> None:
        await asyncio.gather(*(busy.turn([1], 0, length) for length in (10, 20)))
        await asyncio.sleep(0.3)
        await busy.turn([1], 0, 10)

    busy = rollout.Busy(Slow(tick=0.005))
    asyncio.run(turns(busy))
    assert 0.15 <= busy.seconds < 0.3


def test_no_two_prompts_of_a_run_begin_alike() -> None:
    assert len({tuple(rollout.prompt_ids(seed, 4)) for seed in range(500)}) == 500


def test_no_token_ends_a_turn_early(tmp_path: Path) -> None:
    """An end that is drawn among 1024 words would cut one turn in 25."""
    from transformers import AutoTokenizer, GenerationConfig

    folder = rollout.random_model(TINY, tmp_path)
    # transformers gives any Qwen2 tokenizer an end of its own: it must be one that the model cannot say.
    assert AutoTokenizer.from_pretrained(folder).eos_token_id in (None, rollout.VOCABULARY)
    assert GenerationConfig.from_pretrained(folder).eos_token_id is None
    with pytest.raises(GenerationError, match="a turn of 1 tokens where 3 were asked for"):
        asyncio.run(rollout.Busy(Scripted(lambda _: [5])).turn([1], 0, 3))


def test_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="takes no arguments, not fast"):
        rollout.run(["fast"])


@pytest.mark.slow
def test_a_short_run_ends_with_its_numbers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vllm", reason="vLLM comes with the cpu and cuda extras")
    for name, value in {
        "SMALL": TINY, "HALF_BILLION": TINY, "DIALOGUES": 12, "CONCURRENCY": 4, "PROMPTS": 2, "SAMPLES": 2,
    }.items():  # fmt: skip
        monkeypatch.setattr(rollout, name, value)
    assert rollout.run([]) == 0
    lines = capsys.readouterr().out.splitlines()
    result = json.loads(lines[-1])
    assert result["async_over_lockstep"] > 0
    assert result["shared_prefill_speedup"] > 0
    assert result["swap_over_full_load"] > 0
    assert 0 < result["engine_busy"] <= 1
    assert result["turns"] == sum(map(len, rollout.dialogues(12, seed=0)))
    assert any("apart" in line and " 0% cached" in line for line in lines)
    assert not any("shared" in line and " 0% cached" in line for line in lines)
