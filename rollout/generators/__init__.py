"""Generators: token ids in, token ids with log-probabilities and a stop reason out, in order.

Nothing outside this package knows which one runs. `build` makes one from a recipe's `generator:` section; a
`Scripted` generator (for tests and baselines) is made in code.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rollout.generators.protocol import Generation, Generator, Request, Sampling, StopReason
from tasks.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["Config", "Generation", "Generator", "Request", "Sampling", "StopReason", "build"]


@dataclass(frozen=True, slots=True)
class Config:
    """Keys of a recipe's `generator:` section."""

    kind: Literal["transformers"] = "transformers"
    batch_size: int = 16
    """Requests that are generated side by side."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Of the weights; `auto` takes what the checkpoint holds."""

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise InputError(f"batch_size is {self.batch_size}; it must be at least 1")


def build(
    config: Config, model: str, adapter: Path | None = None
) -> "tuple[Generator, PreTrainedTokenizerBase]":
    """Load `model` (a folder or a hub name), with a LoRA adapter if given: the generator and its tokenizer.

    Raises InputError when either cannot be loaded.
    """
    from rollout.generators.checkpoint import load
    from rollout.generators.transformers import TransformersGenerator

    policy, tokenizer = load(model, adapter, config.dtype)
    return TransformersGenerator(policy, tokenizer, config.batch_size), tokenizer
