import json
from pathlib import Path

import pytest

from tasks.errors import InputError
from train.check.shapes import SHAPES, Shape, shape_of

# Published: the number of weights in each model's files.
WEIGHTS = {
    "Qwen2.5-0.5B": 494_032_768,
    "Qwen2.5-1.5B": 1_543_714_304,
    "Qwen2.5-3B": 3_085_938_688,
    "Qwen2.5-7B": 7_615_616_512,
    "Qwen2.5-14B": 14_770_033_664,
    "Qwen2.5-32B": 32_763_876_352,
    "Qwen3-0.6B": 596_049_920,
    "Qwen3-1.7B": 1_720_574_976,
    "Qwen3-4B": 4_022_468_096,
    "Qwen3-8B": 8_190_735_360,
    "Qwen3-14B": 14_768_307_200,
    "SmolLM2-135M": 134_515_008,
}

TOY = Shape(
    layers=2, hidden=4, intermediate=6, heads=2, kv_heads=1, head_dim=3, vocabulary=10, tied=False,
    qkv_bias=True, qk_norm=True,
)  # fmt: skip


@pytest.mark.parametrize(("model", "weights"), WEIGHTS.items())
def test_parameters_are_the_published_numbers(model: str, weights: int) -> None:
    assert SHAPES[model].parameters == weights


def test_worked_by_hand() -> None:
    # A block: q 4x6, k 4x3, v 4x3, o 6x4, three of 4x6 = 24+12+12+24+72 = 144; biases 6+3+3 = 12; head norms
    # 2x3 = 6; norms 2x4 = 8: 170. Two blocks 340, embedding and head 2x40, last norm 4.
    assert TOY.parameters == 2 * 170 + 80 + 4


def test_an_adapter_worked_by_hand() -> None:
    # r (in + out): q 10r, k 7r, v 7r, o 10r, gate, up, down 10r each
    assert TOY.adapter_parameters(2, "all-linear") == 2 * 2 * 64
    assert TOY.adapter_parameters(2, ("q_proj", "v_proj")) == 2 * 2 * 17
    with pytest.raises(InputError, match="no layer 'qproj'; did you mean 'q_proj'"):
        TOY.adapter_parameters(2, ("qproj",))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["Qwen2.5-0.5B", "Qwen3-0.6B", "SmolLM2-135M"])
def test_shapes_give_the_models_of_transformers(model: str) -> None:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    shape = SHAPES[model]
    family = "qwen2" if shape.qkv_bias else "qwen3" if shape.qk_norm else "llama"
    config = AutoConfig.for_model(
        family,
        num_hidden_layers=shape.layers,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim,
        vocab_size=shape.vocabulary,
        tie_word_embeddings=shape.tied,
    )
    with torch.device("meta"):
        built = AutoModelForCausalLM.from_config(config)
    assert built.num_parameters() == shape.parameters


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mini", "mini_hops"])
def test_the_mini_model_is_the_one_that_is_made(name: str, tmp_path: Path) -> None:
    from train import mini_hops_model, mini_model

    if name == "mini":
        model, words = mini_model.warm_start(mini_model.WarmStart(rows=16, steps=0))
    else:
        model, words = mini_hops_model.warm_start(mini_hops_model.WarmStart(episodes=3, steps=0))
    assert model.num_parameters() == SHAPES[name].parameters
    assert len(words) == SHAPES[name].vocabulary
    model.save_pretrained(tmp_path)
    assert shape_of(str(tmp_path)) == SHAPES[name]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("Qwen/Qwen2.5-3B-Instruct", "Qwen2.5-3B"),
        ("qwen/qwen3-8b", "Qwen3-8B"),
        ("someone/Qwen3-4B-Instruct-2507", "Qwen3-4B"),
        ("HuggingFaceTB/SmolLM2-135M-Instruct", "SmolLM2-135M"),
        ("mini", "mini"),
    ],
)
def test_names(name: str, known: str) -> None:
    assert shape_of(name) == SHAPES[known]


def test_names_that_only_look_alike_are_not_known() -> None:
    assert shape_of("Qwen/Qwen2.5-72B") is None
    assert shape_of("Qwen/Qwen3-0.6BX") is None


def test_folders(tmp_path: Path) -> None:
    config = {
        "model_type": "qwen2", "num_hidden_layers": 2, "hidden_size": 4, "intermediate_size": 6,
        "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 10, "tie_word_embeddings": True,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert shape_of(str(tmp_path)) == Shape(2, 4, 6, 2, 1, 2, 10, tied=True, qkv_bias=True)
    (tmp_path / "config.json").write_text(json.dumps({**config, "model_type": "mamba"}))
    assert shape_of(str(tmp_path)) is None
    broken = [{}, [], *({**config, key: 0} for key in ("num_attention_heads", "hidden_size", "vocab_size"))]
    for content in (*broken, {**config, "intermediate_size": "6"}):
        (tmp_path / "config.json").write_text(json.dumps(content))
        with pytest.raises(InputError, match="not a model's configuration"):
            shape_of(str(tmp_path))
    assert shape_of(str(tmp_path / "none")) is None
