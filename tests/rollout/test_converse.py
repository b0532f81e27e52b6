import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rollout.converse import Start, converse
from rollout.environments import Environment
from rollout.generators import Generation, GenerationError, Item, Request, Sampling, build
from rollout.generators.config import Transformers as TransformersConfig
from rollout.generators.protocol import OnDone
from rollout.generators.scripted import Scripted
from tasks.tool_task import Message, ToolTask
from tasks.when2call import parse_row
from train import mini_model

WORDS = mini_model.tokenizer()
TASK = parse_row(
    {
        "uuid": "u", "question": "q", "correct_answer": "direct", "tools": [],
        "answers": {"direct": "d", "tool_call": "{}", "request_for_info": "r", "cannot_answer": "c"},
    },
    "row",
)  # fmt: skip


class Waits(Scripted):
    """Says a word and stops; the lower the seed, the later. Counts who is served at once."""

    def __init__(self) -> None:
        super().__init__(lambda request: [len(request.prompt_ids) % 50 + 20, WORDS.eos_token_id])
        self.alive = self.most = 0

    async def generate(
        self, requests: Sequence[Request], sampling: Sampling, on_done: OnDone | None = None
    ) -> list[Generation]:
        self.alive += 1
        self.most = max(self.most, self.alive)
        await asyncio.sleep(0.001 * (requests[0].seed % 7))
        self.alive -= 1
        return await super().generate(requests, sampling, on_done)


def says(turns: int) -> Environment:
    def reply(task: ToolTask, texts: Sequence[str]) -> Sequence[Message] | None:
        return [{"role": "user", "content": "what"}] if len(texts) < turns else None

    return Environment(reply, max_turns=3)


def run(generator: Any, environment: Environment, n: int = 1, budget: int = 200, **rest: Any) -> Any:
    starts = [Start(TASK, tuple(range(10, 11 + i)), i) for i in range(n)]
    return asyncio.run(converse(generator, WORDS, environment, starts, Sampling(budget), **rest))


def test_order_is_kept_at_bounded_concurrency_and_each_reports() -> None:
    generator, seen = Waits(), dict[int, Any]()
    found = run(generator, says(2), n=20, concurrency=4, on_done=seen.__setitem__)
    assert [dialogue.prompt_ids for dialogue in found] == [tuple(range(10, 11 + i)) for i in range(20)]
    assert [seen[i] for i in range(20)] == found
    assert generator.most == 4
    assert all(len(dialogue.turns()) == 2 and dialogue.end == "done" for dialogue in found)


def test_each_turn_reads_all_that_came_before_under_a_seed_of_its_own() -> None:
    asked: list[Request] = []

    def script(request: Request) -> list[int]:
        asked.append(request)
        return [30, WORDS.eos_token_id]

    (dialogue,) = run(Scripted(script), says(3))
    assert len(asked) == 3
    for earlier, later in itertools.pairwise(asked):
        assert later.prompt_ids[: len(earlier.prompt_ids)] == earlier.prompt_ids
    assert len({request.seed for request in asked}) == 3
    assert dialogue.context[: len(asked[-1].prompt_ids)] == asked[-1].prompt_ids
    again = list(asked)
    asked.clear()
    run(Scripted(script), says(3))
    assert asked == again  # the same start, the same dialogue


def test_limits_are_told_apart() -> None:
    assert run(Waits(), says(9))[0].end == "turns"
    (short,) = run(Waits(), says(9), budget=8)
    assert short.end == "length"
    assert len(short.ids) <= 8
    (cut,) = run(Waits(), says(1), budget=1)
    assert (cut.end, len(cut.ids)) == ("done", 1)


def test_a_failure_is_raised_as_it_is_and_ends_the_rest() -> None:
    class Fails(Waits):
        async def generate(self, requests: Any, sampling: Any, on_done: Any = None) -> list[Generation]:
            if len(requests[0].prompt_ids) == 3:
                raise GenerationError("engine 0 died")
            return await super().generate(requests, sampling, on_done)

    with pytest.raises(GenerationError, match="engine 0 died"):
        run(Fails(), says(3), n=8)


def test_an_environment_that_fails_is_not_hidden() -> None:
    def broken(task: ToolTask, texts: Sequence[str]) -> Sequence[Message] | None:
        raise KeyError("no such row")

    with pytest.raises(KeyError, match="no such row"):
        run(Waits(), Environment(broken, max_turns=3), n=4)


def test_nobody_may_be_alive_is_refused() -> None:
    with pytest.raises(ValueError, match="concurrency is 0"):
        run(Waits(), says(1), concurrency=0)


def test_the_models_tokens_have_the_models_own_log_probabilities(tiny_qwen: Path) -> None:
    """On a real model: scoring a token in its place gives what it was sampled with."""
    generator, words = build(TransformersConfig(dtype="float32"), str(tiny_qwen))
    prompt = words.apply_chat_template(
        [{"role": "user", "content": "hi"}], add_generation_prompt=True, tokenize=False
    )
    start = Start(TASK, tuple(words(prompt, add_special_tokens=False)["input_ids"]), 3)

    def reply(task: ToolTask, texts: Sequence[str]) -> Sequence[Message] | None:
        return [{"role": "user", "content": f"not {len(texts)}<|im_end|>"}]

    class Short:
        """Cuts each turn after five tokens."""

        async def generate(self, requests: Any, sampling: Sampling, on_done: Any = None) -> list[Generation]:
            left = min(5, sampling.max_new_tokens)
            return await generator.generate(requests, Sampling(left, sampling.temperature), on_done)

    found = converse(Short(), words, Environment(reply, 3), [start], Sampling(200))  # type: ignore[arg-type]
    (dialogue,) = asyncio.run(found)
    assert (dialogue.end, len(dialogue.turns())) == ("turns", 3)
    for place, (mask, logprob) in enumerate(zip(dialogue.mask, dialogue.logprobs, strict=True)):
        if mask:
            before = (*dialogue.prompt_ids, *dialogue.ids[:place])
            ((scored,),) = asyncio.run(generator.score([Item(before, ((dialogue.ids[place],),))]))
            assert scored[0] == pytest.approx(logprob, abs=1e-4)
