"""Loading a policy: a model folder or hub name, an adapter on top, the tokenizer beside it."""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tasks.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Dtype = Literal["auto", "float32", "bfloat16", "float16"]


def load(
    model: str, adapter: Path | None = None, dtype: Dtype = "auto"
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """The model in evaluation mode, on the GPU where there is one, and its tokenizer.

    `model` may be a folder that holds an adapter alone: its base is then the one that the adapter names.
    Raises InputError when a folder is not a model, or a hub name cannot be loaded.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    words = model
    if adapter is None and (Path(model) / "adapter_config.json").is_file():
        adapter, model = Path(model), _base_of(Path(model))
    try:
        tokenizer = AutoTokenizer.from_pretrained(_first_tokenizer(words, adapter, model))
        policy = AutoModelForCausalLM.from_pretrained(model, dtype=dtype)
        if adapter is not None:
            from peft import PeftModel

            policy = PeftModel.from_pretrained(policy, str(adapter))
    except (OSError, ValueError, KeyError) as error:
        what = f"{model} with adapter {adapter}" if adapter else model
        cause = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(
            f"model {what} cannot be loaded ({cause[0][:200]}); give the folder of a causal language model, "
            "or the name of one on the hub"
        ) from None
    return policy.to("cuda" if torch.cuda.is_available() else "cpu").eval(), tokenizer


def fingerprint(model: str, adapter: Path | None = None) -> str:
    """A key that changes when the weights do: names, sizes and times of a folder's files, or the hub name."""
    parts: list[object] = []
    for place in (model, adapter):
        folder = Path(place) if place is not None else None
        if folder is None or not folder.is_dir():
            parts.append(None if place is None else str(place))
            continue
        files = sorted(file for file in folder.iterdir() if file.is_file())
        parts.append([(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files])
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _base_of(adapter: Path) -> str:
    from tasks.json_text import loads

    try:
        return str(
            loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))["base_model_name_or_path"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{adapter}/adapter_config.json does not name its base model ({error})") from None


def _first_tokenizer(*places: str | Path | None) -> str:
    """The first folder that holds a tokenizer, else the last place, which may be a hub name."""
    for place in places:
        if place is not None and (Path(place) / "tokenizer_config.json").is_file():
            return str(place)
    return str(places[-1])
