"""Many dialogues at once between a generator and an environment, each at its own pace.

A dialogue asks for its next turn as soon as it has its reply, so that none waits for the slowest of a batch.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rollout.dialogue import ChatFormat, Dialogue
from rollout.environments import Environment
from rollout.gather import gather
from rollout.generators import Generator, Request, Sampling
from rollout.generators.protocol import Ids
from rollout.seeds import derive
from tasks.tool_task import ToolTask

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

OnDone = Callable[[int, Dialogue], None]
"""Called with (index of the start, its dialogue) as soon as it has ended, in any order."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where a dialogue begins: a task, its rendered prompt, and a seed from which each turn's is derived."""

    task: ToolTask
    prompt_ids: Ids
    seed: int = 0


async def converse(
    generator: Generator,
    tokenizer: "PreTrainedTokenizerBase",
    environment: Environment,
    starts: Sequence[Start],
    sampling: Sampling,
    concurrency: int = 64,
    on_done: OnDone | None = None,
    on_turn: Callable[[], None] | None = None,
) -> list[Dialogue]:
    """One dialogue for each start, in order, at most `concurrency` at a time.

    `sampling.max_new_tokens` bounds all that follows a prompt: the model's turns and the replies between.
    `on_turn` is called after each of the model's turns, in any dialogue. The first failure (generator,
    environment, `on_done`, `on_turn`) ends all dialogues and is raised as it is.
    """
    if starts and concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}; it must be at least 1")
    chat = ChatFormat(tokenizer)
    gate = asyncio.Semaphore(concurrency)

    async def one(index: int, start: Start) -> Dialogue:
        async with gate:
            dialogue = await _dialogue(generator, chat, environment, start, sampling, on_turn)
        if on_done is not None:
            on_done(index, dialogue)
        return dialogue

    return await gather(one(i, start) for i, start in enumerate(starts))


async def _dialogue(
    generator: Generator,
    chat: ChatFormat,
    environment: Environment,
    start: Start,
    sampling: Sampling,
    on_turn: Callable[[], None] | None,
) -> Dialogue:
    dialogue = Dialogue(start.prompt_ids)
    texts: list[str] = []
    while True:
        left = sampling.max_new_tokens - len(dialogue.ids)
        request = Request(dialogue.context, derive(start.seed, len(texts)))
        (turn,) = await generator.generate([request], Sampling(left, sampling.temperature))
        dialogue.add_turn(turn)
        if on_turn is not None:
            on_turn()
        texts.append(chat.tokenizer.decode(list(turn.token_ids), skip_special_tokens=True))
        messages = environment.reply(start.task, texts)
        if messages is None:
            dialogue.end = "done"
        elif len(texts) == environment.max_turns:
            dialogue.end = "turns"
        else:
            reply = chat.reply(messages)
            if len(dialogue.ids) + 1 + len(reply) >= sampling.max_new_tokens:  # no room for another turn
                dialogue.end = "length"
            else:
                dialogue.add_reply(reply, chat.end_of_turn)
        if dialogue.end:
            return dialogue
