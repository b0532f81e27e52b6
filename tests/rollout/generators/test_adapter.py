import json
from pathlib import Path
from typing import Any

import pytest

from rollout.generators.adapter import check_servable, check_targets, engine_rank
from tasks.errors import InputError

GOOD = {"peft_type": "LORA", "r": 12, "target_modules": ["q_proj", "down_proj"], "bias": "none"}


def write(folder: Path, **change: Any) -> Path:
    (folder / "adapter_config.json").write_text(json.dumps({**GOOD, **change}))
    return folder


def test_a_plain_lora_is_served(tmp_path: Path) -> None:
    assert check_servable(write(tmp_path)) == 12
    assert check_servable(write(tmp_path, use_rslora=True, target_modules="all-linear"), 16) == 12


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"use_dora": True}, "cannot serve DoRA; merge it"),
        ({"bias": "all"}, "trained biases"),
        ({"modules_to_save": ["lm_head"]}, "whole trained modules"),
        ({"rank_pattern": {"q_proj": 4}}, "a rank of its own"),
        ({"alpha_pattern": {"q_proj": 4}}, "an alpha of its own"),
        ({"r": 64}, "rank 64, .* up to 16; start it with --max-lora-rank 64"),
        ({"r": 1024}, "vLLM serves ranks up to 512; lower lora.r"),
        ({"r": None}, "no rank"),
        ({"r": True}, "no rank"),
        ({"r": -4}, "no rank"),
        ({"target_modules": [5]}, "no names in"),
        ({"target_modules": []}, "no names in"),
        ({"target_modules": ["q_proj", "embed_tokens"]}, "LoRA on embed_tokens: vLLM drops it"),
        ({"target_modules": ["model.layers.0.mlp.experts"]}, "experts"),
        ({"peft_type": "LOHA"}, "LoRA adapters only"),
    ],
)
def test_what_cannot_be_served_is_named_with_the_mend(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        check_servable(write(tmp_path, **change), 16)


def test_no_adapter(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no adapter"):
        check_servable(tmp_path)
    (tmp_path / "adapter_config.json").write_text("[]")
    with pytest.raises(InputError, match="LoRA adapters only"):
        check_servable(tmp_path)


@pytest.mark.parametrize(("rank", "size"), [(1, 1), (2, 8), (16, 16), (17, 32), (300, 320), (512, 512)])
def test_engine_ranks(rank: int, size: int) -> None:
    assert engine_rank(rank) == size


def test_full_names_are_judged_by_their_layer() -> None:
    check_targets(["model.layers.3.self_attn.q_proj"])
    check_targets("all-linear")
