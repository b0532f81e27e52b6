"""Tokenizers of the tiny models: a token a word, made in process."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

CONTROL = ("<pad>", "<unk>", "<|user|>", "<|assistant|>", "<|end|>")
"""First in every vocabulary; the turns of a chat open and end with them."""


def tokenizer(
    words: Iterable[str], whole: Sequence[str], split: Any, glue: Iterable[tuple[str, str]], template: str
) -> "PreTrainedTokenizerFast":
    """A tokenizer of these words; those in `whole` are found before the text is split.

    `split` is a pre-tokenizer; `glue` replaces what decoding, which puts a space between any two tokens, has
    put apart.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    vocabulary = dict.fromkeys([*CONTROL, *whole, *words])
    inner = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="<unk>"))
    inner.pre_tokenizer = split
    inner.decoder = decoders.Sequence(
        [
            decoders.WordPiece(prefix="##", cleanup=False),
            decoders.Fuse(),
            *(decoders.Replace(apart, together) for apart, together in glue),
        ]
    )
    inner.add_tokens([AddedToken(word, normalized=False) for word in whole])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", unk_token="<unk>", eos_token="<|end|>",
        additional_special_tokens=["<|user|>", "<|assistant|>"], clean_up_tokenization_spaces=False,
        padding_side="left",
    )  # fmt: skip
    fast.chat_template = template
    return fast
