"""The adapter of the stage before, on its base, ready to be trained on."""

from pathlib import Path
from typing import TYPE_CHECKING

from tasks.errors import InputError
from train.checkpoints import read_json

if TYPE_CHECKING:
    from peft import PeftModel

    from train.online import Config as OnlineConfig
    from train.stage_config import StageConfig
    from train.stage_run import Parts


def with_adapter(config: "StageConfig | OnlineConfig", parts: "Parts") -> "PeftModel":
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


def rank_of(adapter: Path | None) -> int | None:
    """The rank of an adapter's matrices, as its configuration has it."""
    known = read_json(adapter / "adapter_config.json") if adapter else None
    return known.get("r") if isinstance(known, dict) else None
