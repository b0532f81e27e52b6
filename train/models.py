"""Where the policy's weights come from."""

from typing import TYPE_CHECKING

from train.recipe import MINI

if TYPE_CHECKING:
    from transformers import TrainingArguments


def locate(model: str, seed: int, arguments: "TrainingArguments") -> str:
    """Hub name or folder as it stands; `mini` is built first, once, on the main process, and cached."""
    if model != MINI:
        return model
    from train import mini_model

    with arguments.main_process_first(local=False, desc="warm start of the mini model"):
        return str(mini_model.build(mini_model.WarmStart(seed=seed)))
