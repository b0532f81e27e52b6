"""What is known about `trainer.fsdp` before it costs anything: its keys, and what it does not go with.

transformers ignores a key of `fsdp_config` that it does not know.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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


def faults(trainer: Mapping[str, Any]) -> Iterator[str]:
    """What stands against this `trainer:` section, if it asks for FSDP."""
    if not trainer.get("fsdp"):
        if trainer.get("fsdp_config"):
            yield "trainer.fsdp_config without trainer.fsdp does nothing; set trainer.fsdp=true"
        return
    if trainer.get("deepspeed") is not None:
        yield "trainer.fsdp and trainer.deepspeed both shard the policy; drop one of them"
    config = trainer.get("fsdp_config") or {}
    if isinstance(config, str):
        try:
            config = json.loads(Path(config).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            yield f"trainer.fsdp_config: {trainer['fsdp_config']} is not a JSON file: {error}"
            return
    if not isinstance(config, Mapping):
        yield "trainer.fsdp_config: expected a mapping"
        return
    known = _SHARED | (_FSDP1 if config.get("version") == 1 else frozenset())
    for key in config:
        name = str(key).removeprefix("fsdp_")
        if name in _FSDP1 - known:
            yield f"trainer.fsdp_config.{key} is a key of FSDP1, which FSDP2 ignores; remove it"
        elif name not in known:
            yield f"trainer.fsdp_config: unknown key {key!r}; {closest(name, known)}"
