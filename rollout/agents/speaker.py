"""A model that is told something and says something: one user message in, text out."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rollout.agents.protocol import Said, Spent
from rollout.generators import Generation, Generator, Request, Sampling
from rollout.generators.protocol import Ids
from tasks.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_PLACE = "place-of-the-message"
_CHANNEL = "<|channel|>"
"""First in a reply of models that write thoughts and answer into channels of their own (GPT-OSS)."""
_FINAL = re.compile(r"<\|channel\|>final\b[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
"""Before their answer, which may be said to be JSON."""
_OPENED, _CLOSED = "<think>", "</think>"
"""Around the thoughts of others; of some the prompt opens them."""


class Speaker:
    """A generator with its tokenizer and how to sample. `schema` keeps the text to JSON of its form."""

    def __init__(
        self,
        generator: Generator,
        tokenizer: "PreTrainedTokenizerBase",
        max_new_tokens: int,
        temperature: float = 0.0,
        schema: str | None = None,
    ) -> None:
        if not tokenizer.chat_template:
            raise InputError("a role needs a model with a chat template; its tokenizer has none")
        self.generator, self.tokenizer = generator, tokenizer
        self.sampling = Sampling(max_new_tokens, temperature)
        self.schema = schema
        around = self._text(_PLACE).partition(_PLACE)
        self._around = self._encode(around[0]), self._encode(around[2])
        self._thinks = around[2].rstrip().endswith(_OPENED)
        self._special = set(tokenizer.all_special_ids) | {
            index for index, token in tokenizer.added_tokens_decoder.items() if token.special
        }
        self._marks = self._special_in((*self._around[0], *self._around[1]))

    async def say(self, prompt: str, seed: int) -> Said:
        """The reply to a prompt. Raises GenerationError."""
        (said,) = await self.say_each(prompt, [seed], self.sampling.temperature)
        return said

    async def say_each(self, prompt: str, seeds: Sequence[int], temperature: float) -> list[Said]:
        """One reply for each seed; an engine reads the prompt once. Raises GenerationError."""
        ids = self.prompt_ids(prompt)
        found = await self.generate_each(ids, seeds, temperature)
        return [Said(self.spoken(one.token_ids), Spent(len(ids), len(one.token_ids))) for one in found]

    async def generate_each(self, ids: Ids, seeds: Sequence[int], temperature: float) -> list[Generation]:
        """One completion of a prompt's ids for each seed. Raises GenerationError."""
        requests = [Request(ids, seed, self.schema) for seed in seeds]
        return await self.generator.generate(requests, Sampling(self.sampling.max_new_tokens, temperature))

    def prompt_ids(self, prompt: str) -> Ids:
        """The ids of a user message and the opened turn. What it spells of special tokens stays text."""
        ids = self._encode(self._text(prompt))
        if self._special_in(ids) == self._marks:
            return ids
        before, after = self._around
        inner = self.tokenizer(prompt, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return (*before, *inner, *after)

    def _text(self, prompt: str) -> str:
        message = [{"role": "user", "content": prompt}]
        switches = {"add_generation_prompt": True, "tokenize": False, "enable_thinking": False}
        return str(self.tokenizer.apply_chat_template(message, **switches))

    def _encode(self, text: str) -> Ids:
        return tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _special_in(self, ids: Sequence[int]) -> list[int]:
        return [index for index in ids if index in self._special]

    def spoken(self, ids: Sequence[int]) -> str:
        """What was said, without special tokens and thoughts: nothing where tokens ran out in a thought."""
        raw = str(self.tokenizer.decode(list(ids))).lstrip()
        if raw.startswith(_CHANNEL):
            finals = list(_FINAL.finditer(raw))
            ids = self._encode(raw[finals[-1].end() :]) if finals else ()
        elif _CLOSED in raw:
            ids = self._encode(raw.rpartition(_CLOSED)[2])
        elif self._thinks or raw.startswith(_OPENED):
            ids = ()
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True)).strip()
