"""Dialogues as token ids: what the model said stays as it said it, what others say is appended as ids.

No text that a model produced is ever encoded anew, so log-probabilities and loss mask stay true, and a longer
dialogue extends a shorter one token by token, whatever a chat template would make of earlier turns.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

from rollout.generators import Generation
from rollout.generators.protocol import Ids
from tasks.errors import InputError
from tasks.tool_task import Message

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_TURN = "turn-of-the-assistant"
_CONTENT = "content-of-message-{}."


class ChatFormat:
    """How a tokenizer's chat template goes on after an assistant's turn.

    Raises InputError where the template does not end such a turn with the end-of-sequence token.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        self.tokenizer = tokenizer
        if tokenizer.eos_token_id is None or not tokenizer.chat_template:
            raise InputError("dialogues need a tokenizer with a chat template and an end-of-sequence token")
        self.end_of_turn = int(tokenizer.eos_token_id)
        # Of the added tokens, not of `all_special_tokens`: a tokenizer need not list its headers there (Llama
        # 3's does not). Any text may have unknown words, so their token is no mark.
        added = (index for index, token in tokenizer.added_tokens_decoder.items() if token.special)
        self._special = {*added, *tokenizer.all_special_ids} - {tokenizer.unk_token_id}
        self.reply([{"role": "user", "content": "?"}])  # refuses a template that cannot

    def reply(self, messages: Sequence[Message]) -> Ids:
        """The ids from an assistant's end of turn to the next opened one, with `messages` between.

        Content that spells a special token is read letter by letter: it cannot end a turn or open another.
        Raises InputError where the template cannot show these messages, or the tokenizer not read them so.
        """
        pieces = self._around(messages)
        encoded = [self._encode(piece) for piece in pieces]
        marks = self._marks(itertools.chain(*encoded))
        ids = self._encode(self._after_turn(messages))
        if self._marks(ids) == marks:
            return ids
        ids = encoded[0]
        for message, piece in zip(messages, encoded[1:], strict=True):
            ids += self._encode(message["content"], split_special_tokens=True) + piece
        if self._marks(ids) != marks:
            raise InputError("the tokenizer cannot read the spelling of a special token as plain text")
        return ids

    def _around(self, messages: Sequence[Message]) -> list[str]:
        """What the template writes after an end of turn, before, between and after the messages' contents."""
        names = [_CONTENT.format(number) for number in range(len(messages))]
        named = [cast(Message, {**one, "content": name}) for one, name in zip(messages, names, strict=True)]
        rest, pieces = self._after_turn(named), []
        for name, message in zip(names, messages, strict=True):
            before, found, rest = rest.partition(name)
            if not found:
                raise InputError(f"the chat template leaves out messages of role {message['role']!r}")
            pieces.append(before)
        return [*pieces, rest]

    def _after_turn(self, messages: Sequence[Message]) -> str:
        """What the template writes after an assistant's end of turn, up to the next opened turn."""
        from jinja2 import TemplateError

        shown: list[Message] = [
            {"role": "user", "content": "?"},
            {"role": "assistant", "content": _TURN},
            *messages,
        ]
        switches = {"add_generation_prompt": True, "tokenize": False, "enable_thinking": False}
        try:
            text = str(self.tokenizer.apply_chat_template(shown, **switches))
        except TemplateError as error:
            roles = ", ".join(message["role"] for message in messages)
            raise InputError(
                f"the chat template refuses {roles} after an assistant's turn: {error}"
            ) from None
        _, _, rest = text.partition(_TURN)
        end = str(self.tokenizer.eos_token)
        if not rest.startswith(end):
            raise InputError(f"the chat template does not end an assistant's turn with {end}: no dialogues")
        return rest.removeprefix(end)

    def _marks(self, ids: Iterable[int]) -> list[int]:
        """The special tokens among them."""
        return [index for index in ids if index in self._special]

    def _encode(self, text: str, **switches: bool) -> Ids:
        return tuple(self.tokenizer(text, add_special_tokens=False, **switches)["input_ids"])


DialogueEnd = Literal["", "done", "turns", "length"]
"""`done`: nobody had more to say; `turns`, `length`: a limit was reached; empty: it goes on."""


@dataclass(slots=True)
class Dialogue:
    """A prompt (the opened first turn of the model at its end) and all that followed.

    `ids`, `mask` and `logprobs` are equally long. The mask is 1 on the model's tokens, its own end of turn
    among them, and 0 on all others, whose log-probability is 0.
    """

    prompt_ids: Ids
    ids: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    version: int = 0
    end: DialogueEnd = ""

    @property
    def context(self) -> Ids:
        """What the model reads before its next turn."""
        return (*self.prompt_ids, *self.ids)

    def add_turn(self, generation: Generation) -> None:
        """The model's turn."""
        self._extend(generation.token_ids, 1, generation.logprobs)
        self.version = generation.version

    def add_reply(self, reply: Ids, end_of_turn: int) -> None:
        """What `ChatFormat.reply` gave; a turn that was cut off is ended first, by the environment."""
        if self.ids[-1:] != [end_of_turn]:
            self._extend((end_of_turn,), 0)
        self._extend(reply, 0)

    def turns(self) -> list[Ids]:
        """The model's turns, as it gave them."""
        runs = itertools.groupby(zip(self.ids, self.mask, strict=True), key=lambda pair: pair[1])
        return [tuple(token for token, _ in run) for is_models, run in runs if is_models]

    def _extend(self, ids: Ids, mask: int, logprobs: Sequence[float] | None = None) -> None:
        self.ids += ids
        self.mask += [mask] * len(ids)
        self.logprobs += logprobs if logprobs is not None else [0.0] * len(ids)
