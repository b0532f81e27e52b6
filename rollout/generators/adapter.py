"""Which LoRA adapters vLLM serves as they are: what it would drop is refused here, with the mend."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tasks.errors import InputError
from tasks.json_text import loads

SERVED_MODULES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""The linear layers of attention and MLP. An adapter on any other is dropped by the engine without a word."""

PACKED_MODULES = ("qkv_proj", "gate_up_proj")
"""Layers that the engine makes of several of them; it wants them named beside their parts."""

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Values of `max_lora_rank` that vLLM 0.31 takes."""


def engine_rank(rank: int) -> int:
    """The least `max_lora_rank` that holds adapters of this rank. Raises InputError when there is none."""
    for known in RANKS:
        if rank <= known:
            return known
    raise InputError(f"a LoRA of rank {rank}: vLLM serves ranks up to {RANKS[-1]}; lower lora.r")


def check_targets(targets: str | Iterable[str]) -> None:
    """Raise InputError when vLLM would drop a layer's adapter without a word (a wrong policy, silently)."""
    if targets == "all-linear":
        return
    names = [targets] if isinstance(targets, str) else sorted(targets)
    foreign = [name for name in names if name.rpartition(".")[2] not in SERVED_MODULES]
    if foreign:
        raise InputError(
            f"a LoRA on {', '.join(foreign)}: vLLM drops it without a word; "
            f"adapt only {', '.join(SERVED_MODULES)}, or take generator.kind: transformers"
        )


def check_servable(folder: Path, max_rank: int | None = None) -> int:
    """The rank of the adapter in `folder`, which vLLM can serve exactly (up to `max_rank`).

    Raises InputError with the mend for DoRA, trained biases, whole trained modules, a rank or a layer that it
    cannot serve, and for a folder that is no adapter.
    """
    file = folder / "adapter_config.json"
    try:
        config = loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} is no adapter: {error}") from None
    if not isinstance(config, Mapping) or config.get("peft_type") != "LORA":
        raise InputError(f"{file}: vLLM serves LoRA adapters only; take generator.kind: transformers")
    merge = "merge it into its base model, or take generator.kind: transformers"
    faults = {
        "use_dora": "DoRA",
        "modules_to_save": "whole trained modules (modules_to_save)",
        "rank_pattern": "a rank of its own for some layers (rank_pattern)",
        "alpha_pattern": "an alpha of its own for some layers (alpha_pattern)",
        "lora_bias": "trained biases (lora_bias)",
    }
    for key, name in faults.items():
        if config.get(key):
            raise InputError(f"{file}: vLLM cannot serve {name}; {merge}")
    if config.get("bias", "none") != "none":
        raise InputError(f"{file}: vLLM cannot serve trained biases (bias: {config['bias']}); {merge}")
    return _check_rank(file, config, max_rank)


def _check_rank(file: Path, config: Mapping[str, Any], max_rank: int | None) -> int:
    rank, targets = config.get("r"), config.get("target_modules")
    names = targets if isinstance(targets, list) else [targets]
    named = bool(names) and all(isinstance(name, str) for name in names)
    if not isinstance(rank, int) or isinstance(rank, bool) or rank < 1 or not named:
        raise InputError(f"{file}: no rank `r` of at least 1, or no names in `target_modules`")
    try:
        check_targets(targets if isinstance(targets, str) else map(str, names))
        engine_rank(rank)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    if max_rank is not None and rank > max_rank:
        raise InputError(
            f"{file}: rank {rank}, and the engine was started for ranks up to {max_rank}; "
            f"start it with --max-lora-rank {engine_rank(rank)}"
        )
    return rank
