"""A toy model, every number worked by hand."""

from pathlib import Path
from typing import Any

import pytest

from rollout.generators import Transformers, Vllm
from train.check.batch import batch_of
from train.check.deepspeed import Zero, zero_of
from train.check.memory import Memory, block_bytes, estimate
from train.check.shapes import SHAPES, Shape
from train.grpo_config import Config, Lora

# Parameters: q 4x6, k 4x3, v 4x3, o 6x4, three of 4x6 = 144 and norms 8 a block; two blocks 304, embedding
# 40, last norm 4: 348.
TOY = Shape(layers=2, hidden=4, intermediate=6, heads=2, kv_heads=1, head_dim=3, vocabulary=10, tied=True)


def memory(
    world: int = 1,
    zero: Zero | None = None,
    lora: Lora | None = None,
    dtype: Any = "float32",
    generator: Any = None,
    **trainer: Any,
) -> Memory:
    trainer = {
        "per_device_train_batch_size": 2, "gradient_accumulation_steps": 2, "num_generations": 2,
        "max_completion_length": 3, **trainer,
    }  # fmt: skip
    config = Config(
        model="toy", task={}, rewards=({"use": "format"},), output_dir=Path("out"), dtype=dtype, lora=lora,
        max_prompt_length=7, trainer=trainer, generator=generator or Transformers(),
    )  # fmt: skip
    return estimate(config, TOY, batch_of(trainer, world), zero or Zero())


def test_full_fine_tuning_in_float32() -> None:
    found = memory(bf16=False, gradient_checkpointing=False)
    assert TOY.parameters == 348
    assert found.weights == 348 * 4
    assert found.adapter == 0
    assert found.gradients == 348 * 4
    assert found.optimizer == 348 * 8  # two float32 numbers
    # A block keeps for each token (4x4 hidden + 2x6 queries and output + 2x3 keys and values + 4x6) x 4 bytes
    # = 58 x 4, and two norm inputs in float32, 2x4x4: 264 bytes.
    assert block_bytes(TOY, 4) == 264
    # 2 sequences of 7 + 3 tokens = 20 tokens, 2 blocks; the head's tile: 6 completion tokens x 10 words x 4
    assert found.activations == 20 * 2 * 264 + 240
    # 2 x 2 sequences at once. Cache: 4 x 10 tokens x 2 (keys, values) x 2 layers x 1 head x 3 x 4 bytes
    # = 1920. Prefill: 4 x 7 tokens x (2x4 + 3x6) x 4 = 2912. Last logits: 4 x 10 x 4 = 160.
    assert found.generation == 1920 + 2912 + 160
    assert found.peak == 348 * 16 + 20 * 2 * 264 + 240


def test_checkpointing_keeps_block_inputs_and_recomputes_one_block() -> None:
    found = memory(bf16=False)
    # 20 tokens x (2 block inputs of 4 numbers x 4 bytes + one block's 264) + the tile
    assert found.activations == 20 * (32 + 264) + 240


def test_lora_on_bfloat16_weights() -> None:
    found = memory(lora=Lora(r=2, alpha=4), dtype="bfloat16")
    adapter = 2 * 2 * (10 + 7 + 7 + 10 + 10 + 10 + 10)  # 2 blocks, rank 2, inputs + outputs
    assert adapter == 256
    assert (found.weights, found.adapter) == (348 * 2, 256 * 4)
    assert (found.gradients, found.optimizer) == (256 * 4, 256 * 8)
    assert found.activations == 20 * (2 * 4 * 2 + 58 * 2 + 32) + 240


def test_ddp_keeps_buckets_and_zero_shares_out() -> None:
    assert memory(world=2).gradients == 348 * 4 * 2
    plain = memory(world=2, bf16=False)
    for stage in (1, 2, 3):
        shared = memory(world=2, zero=Zero(stage), bf16=False)
        assert shared.optimizer == plain.optimizer / 2
        assert shared.gradients == 348 * 4 / (2 if stage >= 2 else 1)
        assert shared.weights == plain.weights / (2 if stage == 3 else 1)
    # bf16 under DeepSpeed keeps float32 master weights: 8 + 4 bytes a weight, over 2 ranks
    assert memory(world=2, zero=Zero(2)).optimizer == 348 * 12 / 2


@pytest.mark.parametrize(
    ("optim", "bytes_each"),
    [("adamw_torch", 8), ("adamw_8bit", 2), ("sgd", 0), ("adafactor", 0), ("lion_8bit", 1)],
)
def test_optimizers(optim: str, bytes_each: int) -> None:
    assert memory(optim=optim).optimizer == 348 * bytes_each


def test_a_reference_model_is_a_copy_but_with_lora_the_adapter_is_switched_off() -> None:
    assert memory(beta=0.1).weights == 348 * 8
    assert memory(beta=0.1, lora=Lora(2, 4)).weights == 348 * 4


def test_a_colocated_engine_keeps_its_own_copy_in_its_share() -> None:
    found = memory(use_vllm=True, vllm_gpu_memory_utilization=0.3)
    assert (found.generation, found.engine_share) == (348 * 2, 0.3)  # TRL leaves the type to vLLM
    assert memory(use_vllm=True, vllm_tensor_parallel_size=2).generation == 348
    assert memory(use_vllm=True, vllm_mode="server").generation == 0


@pytest.mark.parametrize(
    ("options", "trainer", "size"),
    [
        ({}, {}, 348 * 2),  # auto, and TRL computes in bfloat16 unless told otherwise
        ({}, {"bf16": False}, 348 * 4),  # auto: as the policy's weights, float32
        ({}, {"fp16": True}, 348 * 4),
        ({"dtype": "float32"}, {}, 348 * 4),
        ({"dtype": "float16"}, {"bf16": False}, 348 * 2),
        ({"dtype": "bfloat16", "tensor_parallel_size": 2}, {}, 348),  # half of 2 bytes each
    ],
)
def test_the_weights_of_an_engine_of_ours(
    options: dict[str, Any], trainer: dict[str, Any], size: float
) -> None:
    engine = Vllm("vllm", gpu_memory_utilization=0.2, **options)
    found = memory(lora=Lora(2, 4), generator=engine, **trainer)
    assert (found.generation, found.engine_share) == (size, 0.2)


def test_cards() -> None:
    gib = 2**30
    assert Memory(10 * gib, 0, 0, 0, 4 * gib, 3 * gib).fits(16)  # 14 of 14.4
    assert not Memory(10 * gib, 0, 0, 0, 5 * gib, 3 * gib).fits(16)
    # a colocated engine: 14 of (.9 - .3) x 24 = 14.4, and its 10 in .3 x 24 = 7.2 do not fit
    assert not Memory(10 * gib, 0, 0, 0, 4 * gib, 10 * gib, 0.3).fits(24)
    assert Memory(10 * gib, 0, 0, 0, 4 * gib, 7 * gib, 0.3).fits(24)
    assert "fits on cards from 16 GB up" in Memory(gib, 0, 0, 0, gib, gib).lines()[-1]
    lines = Memory(gib, 2**19, 0, 0, 3 * gib, gib).lines()
    assert lines[:3] == [
        "weights           1.00 GiB",
        "adapter           0.50 MiB",
        "gradients         0.00 MiB",
    ]
    assert lines[-2].startswith("peak              4.00 GiB (what stays: weights, ")
    assert lines[-2].endswith("; and the larger of activations and generation)")
    assert Memory(gib, 0, 0, 0, gib, gib, 0.3).lines()[-2].endswith("optimizer; and activations)")
    assert "of more than 141 GB" in Memory(200 * gib, 0, 0, 0, gib, gib).lines()[-1]


def test_the_largest_shipped_shape_is_in_the_right_order() -> None:
    trainer = {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 4}
    config = Config(
        model="Qwen/Qwen2.5-7B-Instruct", task={}, rewards=({"use": "format"},), output_dir=Path("out"),
        dtype="bfloat16", lora=Lora(64, 128), max_prompt_length=1024, trainer=trainer,
    )  # fmt: skip
    found = estimate(config, SHAPES["Qwen2.5-7B"], batch_of(trainer, 4), Zero())
    assert 14 * 2**30 < found.weights < 15 * 2**30  # 7.6e9 x 2 bytes
    assert found.weights < found.peak < 40 * 2**30


def test_deepspeed_configurations(tmp_path: Path) -> None:
    assert zero_of({}) == Zero(0)
    section = {"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 4}
    assert zero_of({"deepspeed": section}) == Zero(2, 4)
    file = tmp_path / "ds.json"
    file.write_text('{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}')
    assert zero_of({"deepspeed": str(file)}) == Zero(3)
    file.write_text("nope")
    for given, fault in (
        (str(file), "is not a JSON file"),
        ({"zero_optimization": 2}, "expected a mapping"),
        ({"zero_optimization": {"stage": 4}}, "stage is 4"),
        ({"zero_optimization": {"stage": True}}, "stage is True"),
        ({"zero_optimization": {"stage": [2]}}, "stage is .2."),
        ({}, "is empty, which starts no DeepSpeed"),
        ({"train_micro_batch_size_per_gpu": "4"}, "train_micro_batch_size_per_gpu is '4'; it is a whole"),
        ({"train_batch_size": 0}, "train_batch_size is 0"),
        ({"gradient_accumulation_steps": 4}, "gradient_accumulation_steps is 1; write .auto. there"),
        ({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "gpu"}}}, "is 'gpu'; it is none"),
    ):
        with pytest.raises(ValueError, match=fault):
            zero_of({"deepspeed": given})
