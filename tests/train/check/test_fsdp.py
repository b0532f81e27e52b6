from pathlib import Path
from typing import Any

import pytest

from train.check.fsdp import faults, version
from train.recipe import load

SCALE = Path(__file__).parents[3] / "recipes" / "scale"


@pytest.mark.parametrize("name", ["lora_fsdp2", "full_fsdp2"])
def test_what_ships_is_taken_whole_by_transformers_and_accelerate(name: str, tmp_path: Path) -> None:
    """Keys checked, as the recipes say: each one reaches accelerate's plugin."""
    from accelerate import FullyShardedDataParallelPlugin
    from trl import GRPOConfig

    trainer = load(SCALE / f"{name}.yaml").config.trainer
    assert list(faults(trainer)) == []
    section = {key: trainer[key] for key in ("fsdp", "fsdp_config")}
    arguments = GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, **section)
    assert arguments.fsdp_plugin_args["fsdp_version"] == 2
    assert arguments.fsdp_plugin_args["reshard_after_forward"] is True
    assert arguments.fsdp_plugin_args["activation_checkpointing"] is True
    assert arguments.fsdp_plugin_args["transformer_cls_names_to_wrap"] == "Qwen2DecoderLayer"
    plugin = FullyShardedDataParallelPlugin(**arguments.fsdp_plugin_args)
    assert plugin.fsdp_version == 2


@pytest.mark.parametrize(
    ("trainer", "said"),
    [
        ({"fsdp": True, "fsdp_config": {"activaton_checkpointing": True}}, "did you mean 'activation_check"),
        ({"fsdp": True, "fsdp_config": {"fsdp_forward_prefetch": True}}, "a key of FSDP1"),
        ({"fsdp": True, "fsdp_config": {"version": 2}, "deepspeed": {}}, "both shard the policy"),
        ({"fsdp_config": {"version": 2}}, "without trainer.fsdp does nothing"),
        ({"fsdp": True, "fsdp_config": "nowhere.json"}, "is not a JSON file"),
        ({"fsdp": True, "fsdp_config": []}, None),
        ({"fsdp": True, "fsdp_config": {"version": 1, "forward_prefetch": True}}, None),
        ({"fsdp": True, "fsdp_config": {"fsdp_version": 2}}, None),
        ({"fsdp": "full_shard auto_wrap"}, None),
        ({"fsdp": "full_shrd"}, "unknown option 'full_shrd'; set trainer.fsdp=true"),
        ({"fsdp": "false"}, "unknown option 'false'"),
        ({"fsdp": "hybrid_shard"}, "exists in FSDP1 alone"),
        ({"fsdp": True, "fsdp_config": {"version": 3}}, "version is 3; expected one of 1, 2"),
        ({"fsdp": True, "fsdp_config": {"version": True}}, "version is True; expected one of 1, 2"),
        ({"fsdp": True, "fsdp_config": {"reshard_after_forward": "full_shard"}}, "expected true or false"),
        ({"fsdp": True, "fsdp_config": {"fsdp_cpu_offload": 3}}, "fsdp_cpu_offload is 3; expected true or"),
        ({"fsdp": True, "fsdp_config": {"cpu_offload": "true"}}, None),
        ({"fsdp": True, "fsdp_config": {"auto_wrap_policy": "LAYERS"}}, "TRANSFORMER_BASED_WRAP"),
        ({"fsdp": True, "fsdp_config": {"state_dict_type": "LOCAL_STATE_DICT"}}, "FULL_STATE_DICT, SHARDED"),
        ({"fsdp": True, "fsdp_config": {"version": 1, "state_dict_type": "LOCAL_STATE_DICT"}}, None),
        ({"fsdp": True, "fsdp_config": {"version": 1, "reshard_after_forward": True}}, "one of full_shard"),
        ({"fsdp": True, "fsdp_config": {"min_num_params": -1}}, "a whole number from 0 up"),
        ({"fsdp": True, "fsdp_config": {"transformer_layer_cls_to_wrap": []}}, "the name of a layer's class"),
        ({}, None),
    ],
)
def test_faults(trainer: dict[str, Any], said: str | None) -> None:
    found = list(faults(trainer))
    assert [said is not None and said in fault for fault in found] == ([True] if said else [])


@pytest.mark.parametrize(
    ("trainer", "number"),
    [
        ({}, 0), ({"fsdp": True}, 2), ({"fsdp": True, "fsdp_config": {"fsdp_version": 1}}, 1),
        ({"fsdp": True, "fsdp_config": {"version": 2}}, 2), ({"fsdp": True, "fsdp_config": "nowhere"}, 0),
    ],
)  # fmt: skip
def test_version(trainer: dict[str, Any], number: int) -> None:
    assert version(trainer) == number
