"""What is known about `trainer.fsdp` before it costs anything: its keys, and what it does not go with.

transformers ignores a key of `fsdp_config` that it does not know.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tasks.errors import InputError
from tasks.strict import closest

_SHARED = frozenset(
    """
    activation_checkpointing auto_wrap_policy cpu_offload cpu_ram_efficient_loading min_num_params
    reshard_after_forward state_dict_type transformer_layer_cls_to_wrap version xla xla_fsdp_grad_ckpt
    xla_fsdp_settings xla_fsdp_v2
    """.split()
)
_FSDP1 = frozenset(
    "backward_prefetch forward_prefetch limit_all_gathers sync_module_states use_orig_params".split()
)


_SWITCHES = frozenset(
    """
    activation_checkpointing cpu_offload cpu_ram_efficient_loading forward_prefetch limit_all_gathers
    sync_module_states use_orig_params xla xla_fsdp_grad_ckpt xla_fsdp_v2
    """.split()
)
_STRATEGIES = ("full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2")
_STATES = ("FULL_STATE_DICT", "SHARDED_STATE_DICT")
_CHOICES = {
    "version": (1, 2),
    "auto_wrap_policy": ("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"),
    "backward_prefetch": ("BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH"),
}


def version(trainer: Mapping[str, Any]) -> int:
    """1 or 2, transformers' default; 0 where the section asks for no FSDP, or `faults` has something."""
    if not trainer.get("fsdp") or list(faults(trainer)):
        return 0
    return 1 if _plain(_config(trainer)).get("version") == 1 else 2


def faults(trainer: Mapping[str, Any]) -> Iterator[str]:
    """What stands against this `trainer:` section, if it asks for FSDP."""
    if not trainer.get("fsdp"):
        if trainer.get("fsdp_config"):
            yield "trainer.fsdp_config without trainer.fsdp does nothing; set trainer.fsdp=true"
        return
    if trainer.get("deepspeed") is not None:
        yield "trainer.fsdp and trainer.deepspeed both shard the policy; drop one of them"
    try:
        given = _config(trainer)
    except InputError as error:
        yield str(error)
        return
    config = _plain(given)
    known = _SHARED | (_FSDP1 if config.get("version") == 1 else frozenset())
    for key in given:
        name = str(key).removeprefix("fsdp_")
        if name in _FSDP1 - known:
            yield f"trainer.fsdp_config.{key} is a key of FSDP1, which FSDP2 ignores; remove it"
        elif name not in known:
            yield f"trainer.fsdp_config: unknown key {key!r}; {closest(name, known)}"
        elif expected := _expected(name, config[name], config.get("version", 2)):
            yield f"trainer.fsdp_config.{key} is {given[key]!r}; expected {expected}"
    yield from _words(trainer["fsdp"], config.get("version", 2))


def _config(trainer: Mapping[str, Any]) -> Mapping[str, Any]:
    """`trainer.fsdp_config`, a mapping or a JSON file. Raises InputError when it is neither."""
    config = trainer.get("fsdp_config") or {}
    if isinstance(config, str):
        try:
            config = json.loads(Path(config).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"trainer.fsdp_config: {config} is not a JSON file: {error}") from error
    if not isinstance(config, Mapping):
        raise InputError("trainer.fsdp_config: expected a mapping")
    return config


def _plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """Without the prefix that keys may have."""
    return {str(key).removeprefix("fsdp_"): value for key, value in config.items()}


def _expected(name: str, value: object, version: object) -> str:
    """What a value should have been; "" where it is."""
    if name in _CHOICES:
        choices = _CHOICES[name]
        return "" if value in choices and not isinstance(value, bool) else _one_of(choices)
    if name == "reshard_after_forward" and version == 1:
        return "" if value in _STRATEGIES else _one_of(_STRATEGIES)
    if name in _SWITCHES or name == "reshard_after_forward":
        return "" if str(value).lower() in ("true", "false") else "true or false"
    if name == "state_dict_type":
        states = (*_STATES, "LOCAL_STATE_DICT") if version == 1 else _STATES
        return "" if value in states else _one_of(states)
    if name == "min_num_params":
        whole = isinstance(value, int) and not isinstance(value, bool)
        return "" if whole and value >= 0 else "a whole number from 0 up"  # type: ignore[operator]
    if name == "transformer_layer_cls_to_wrap":
        names = value if isinstance(value, list) else [value]
        fits = bool(names) and all(isinstance(one, str) and one for one in names)
        return "" if fits else "the name of a layer's class, or a list of such names"
    return ""


def _words(fsdp: object, version: object) -> Iterator[str]:
    """Faults of `trainer.fsdp` in its old form, words in a text."""
    for word in fsdp.split() if isinstance(fsdp, str) else ():
        if word not in (*_STRATEGIES, "offload", "auto_wrap"):
            yield f"trainer.fsdp: unknown option {word!r}; set trainer.fsdp=true"
        elif word in _STRATEGIES[2:] and version != 1:
            yield f"trainer.fsdp: {word} exists in FSDP1 alone; set trainer.fsdp=true"


def _one_of(choices: Iterable[object]) -> str:
    return "one of " + ", ".join(map(str, choices))
