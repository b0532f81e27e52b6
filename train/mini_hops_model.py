"""`model: mini_hops`: a tiny Qwen3 that questions on the miniature of multi-hop tasks, warm-started and kept.

It imitates a teacher who loses the thread now and then and rarely stops, so it is to the stages of training
what a prompted model is to those of arXiv 2609.37236: it asks sensible questions, and asks on when all is
known.
"""

import asyncio
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rollout.agents import Reply, Roles, State, mini
from rollout.episode import Limits, Pool, Stage, play
from tasks import mini_hops
from tasks.move import STOP_TEXT, Ask, spell
from train import word_level
from train.warm_start import Example, Shape, imitate, kept

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

ASK_OPEN, ASK_CLOSE = spell(Ask("\n")).split("\\n")
"""What the one spelling of an ASK has around its question."""
PROMPT_WORDS = "task evidence draft history next not here".split()

CHAT_TEMPLATE = """\
{%- for message in messages -%}
{%- if message.role == 'user' %}<|user|> {{ message.content }}
{% elif message.role == 'assistant' %}<|assistant|> {{ message.content }}<|end|>
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}<|assistant|>{% endif -%}
"""


@dataclass(frozen=True, slots=True)
class WarmStart(Shape):
    """Everything that shapes the tiny questioner; the cache is keyed by it and the sources that use it."""

    layers: int = 3
    steps: int = 1500
    sorted_batches: int = 16
    episodes: int = 2400
    slip: float = 0.3
    eager: float = 0.85


def tokenizer() -> "PreTrainedTokenizerFast":
    """Word-level; a STOP is one token, an ASK its question between two."""
    from tokenizers import pre_tokenizers

    words = [*mini_hops.GLUE, *mini_hops.RELATIONS, *mini_hops.NAMES, *PROMPT_WORDS]
    glue = [(f"{ASK_OPEN} ", ASK_OPEN), (f" {ASK_CLOSE}", ASK_CLOSE)]
    moves = (ASK_OPEN, ASK_CLOSE, STOP_TEXT)
    return word_level.tokenizer(words, moves, pre_tokenizers.WhitespaceSplit(), glue, CHAT_TEMPLATE)


def demonstrations(recipe: WarmStart) -> list[tuple[str, str]]:
    """(prompt, move) of each decision of the teacher, on tasks that no recipe's seed makes."""
    found: list[tuple[str, str]] = []
    teacher = mini.Walker(recipe.slip, recipe.eager)

    class Watched:
        async def next(self, state: State, seed: int) -> Reply:
            reply = await teacher.next(state, seed)
            found.append((reply.prompt, reply.text))
            return reply

    roles = Roles(Watched(), mini.MiniDrafter(), mini.MiniAnswerer())
    limits = Limits(k=mini_hops.TOP_K)

    async def all_of_them() -> None:
        config = mini_hops.Config("train", recipe.episodes)
        for task in mini_hops.load(config, 10_000 + recipe.seed).tasks:
            await play(Stage(task.question, Pool(task.pool), "", "", {}), roles, limits, recipe.seed)

    asyncio.run(all_of_them())
    return found


def build(recipe: WarmStart, cache: Path | None = None) -> Path:
    """Folder of the warm-started model; made on first use, in a cache keyed by content."""
    return kept("mini_hops", recipe, warm_start, (sys.modules[__name__], word_level, mini, mini_hops), cache)


def warm_start(recipe: WarmStart) -> "tuple[Qwen3ForCausalLM, PreTrainedTokenizerFast]":
    """The tiny model after it has imitated the teacher, and its tokenizer."""
    words = tokenizer()
    examples: list[Example] = []
    for prompt, move in demonstrations(recipe):
        message = [{"role": "user", "content": prompt}]
        read = words.apply_chat_template(message, add_generation_prompt=True, tokenize=False)
        examples.append((words(read)["input_ids"], [*words(move)["input_ids"], words.eos_token_id]))
    return imitate(recipe, words, examples, random.Random(f"mini_hops/warm/{recipe.seed}")), words
