"""From a recipe's `generator:` section to a generator."""

from pathlib import Path
from typing import TYPE_CHECKING

from rollout.generators.config import Config, Needs, Scripted, Transformers, Vllm
from rollout.generators.protocol import Generator

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def build(
    config: Config, model: str, adapter: Path | None = None, needs: Needs | None = None
) -> "tuple[Generator, PreTrainedTokenizerBase]":
    """The generator for `model` (a folder or a hub name), with a LoRA adapter if given, and its tokenizer.

    Raises InputError when the model or the adapter cannot be loaded or served.
    """
    from rollout.generators import checkpoint

    needs = needs or Needs()
    model, adapter = checkpoint.split(model, adapter)
    if isinstance(config, Transformers):
        from rollout.generators.transformers import TransformersGenerator

        policy, words = checkpoint.load(model, adapter, config.dtype, needs.revision)
        return TransformersGenerator(policy, words, config.batch_size), words
    words = checkpoint.tokenizer(model, adapter, needs.revision)
    if isinstance(config, Scripted):
        from rollout.generators import scripted

        return scripted.Scripted(scripted.find(config.script)), words
    ends = checkpoint.generation_config(model, needs.revision)
    stop_ids = checkpoint.stop_ids(ends, words)
    if isinstance(config, Vllm):
        from rollout.generators.vllm import VllmGenerator

        return VllmGenerator(config, model, stop_ids, needs, adapter), words
    from rollout.generators.server import ServerGenerator

    return ServerGenerator(config, model, stop_ids, needs, adapter), words
