"""The adapter of the stage before, on its base, ready to be trained on."""

from typing import TYPE_CHECKING

from tasks.errors import InputError
from train.stage_config import StageConfig

if TYPE_CHECKING:
    from peft import PeftModel

    from train.stage_run import Parts


def with_adapter(config: StageConfig, parts: "Parts") -> "PeftModel":
    """The base with `config.adapter`, trainable, under the name that TRL copies for its reference."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(
        parts.model, revision=config.model_revision or "main", dtype=config.dtype
    )
    plugin = parts.arguments.deepspeed_plugin
    sharded = plugin is not None and plugin.zero_stage == 3
    try:
        return PeftModel.from_pretrained(
            base,
            str(config.adapter),
            is_trainable=True,
            autocast_adapter_dtype=not sharded,  # ZeRO-3 gathers one type, huggingface/trl#6089
        )
    except (RuntimeError, ValueError, OSError) as error:
        cause = " ".join(str(error).split())[:200]
        raise InputError(f"adapter {config.adapter} does not fit {config.model} ({cause})") from error
