"""Loading a policy: a model folder or hub name, an adapter on top, the tokenizer beside it."""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from rollout.generators.config import Config, Dtype
from tasks.errors import InputError

if TYPE_CHECKING:
    from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase


def load(
    model: str, adapter: Path | None = None, dtype: Dtype = "auto", revision: str | None = None
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """The model in evaluation mode, on the GPU where there is one, and its tokenizer.

    `model` may be a folder that holds an adapter alone: its base is then the one that the adapter names.
    `revision` is that of a hub name, by default its main branch. Raises InputError when a folder is not a
    model, or a hub name cannot be loaded.
    """
    import torch
    from transformers import AutoModelForCausalLM

    model, adapter = split(model, adapter)
    words = tokenizer(model, adapter, revision)
    try:
        policy = AutoModelForCausalLM.from_pretrained(model, dtype=dtype, revision=revision or "main")
        if adapter is not None:
            from peft import PeftModel

            policy = PeftModel.from_pretrained(policy, str(adapter))
    except (OSError, ValueError, KeyError) as error:
        raise _cannot_load(model, adapter, error) from None
    return policy.to("cuda" if torch.cuda.is_available() else "cpu").eval(), words


def split(model: str, adapter: Path | None = None) -> tuple[str, Path | None]:
    """Base model and adapter, where `model` may be the folder of an adapter that names its base."""
    if adapter is None and (Path(model) / "adapter_config.json").is_file():
        return _base_of(Path(model)), Path(model)
    return model, adapter


def tokenizer(
    model: str, adapter: Path | None = None, revision: str | None = None
) -> "PreTrainedTokenizerBase":
    """The tokenizer beside the adapter where there is one, else the model's. Raises InputError."""
    from transformers import AutoTokenizer

    beside = adapter is not None and (adapter / "tokenizer_config.json").is_file()
    try:
        if beside:
            return AutoTokenizer.from_pretrained(str(adapter))
        return AutoTokenizer.from_pretrained(model, revision=revision or "main")
    except (OSError, ValueError, KeyError) as error:
        raise _cannot_load(model, adapter, error) from None


def generation_config(model: str, revision: str | None = None) -> "GenerationConfig | None":
    """The model's generation configuration, without the model; None where there is none.

    Raises InputError for a file that is none.
    """
    from transformers import GenerationConfig

    try:
        found = GenerationConfig.from_pretrained(model, revision=revision or "main")
        ends = found.eos_token_id
    except (AttributeError, OSError, TypeError, ValueError) as error:
        # transformers has an OSError for a file that is broken as well as for one that is not there.
        if isinstance(error, OSError) and not (Path(model) / "generation_config.json").is_file():
            return None
        raise InputError(f"the generation_config.json of {model} is none ({error})") from None
    listed = ends if isinstance(ends, list | tuple) else [ends]
    if not all(i is None or type(i) is int for i in listed):
        raise InputError(f"the generation_config.json of {model} is none: eos_token_id is {ends!r}")
    return found


def stop_ids(config: "GenerationConfig | None", words: "PreTrainedTokenizerBase") -> frozenset[int]:
    """The ids that end a turn: those of the model's generation configuration and the tokenizer's own."""
    configured = config.eos_token_id if config is not None else None
    listed = configured if isinstance(configured, list | tuple) else [configured]
    return frozenset(int(i) for i in (*listed, words.eos_token_id) if i is not None)


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


def identity(config: Config, model: str, adapter: Path | None = None) -> str:
    """What the numbers depend on: weights, engine and the weights' type, not how the engine is fed."""
    return f"{fingerprint(model, adapter)}/{config.kind}/{getattr(config, 'dtype', '')}"


def _base_of(adapter: Path) -> str:
    from tasks.json_text import loads

    try:
        return str(
            loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))["base_model_name_or_path"]
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{adapter}/adapter_config.json does not name its base model ({error})") from None


def _cannot_load(model: str, adapter: Path | None, error: Exception) -> InputError:
    what = f"{model} with adapter {adapter}" if adapter else model
    cause = str(error).strip().splitlines() or [type(error).__name__]
    return InputError(
        f"model {what} cannot be loaded ({cause[0][:200]}); give the folder of a causal language model, "
        "or the name of one on the hub"
    )
