"""DeepSpeed from the recipe, two ranks on the CPU: ZeRO-2 and ZeRO-3 learn what data parallel learns."""

from pathlib import Path

import pytest

from tests.train.ranks import RECIPES, start
from train import mini_model
from train.metrics_log import records

pytestmark = pytest.mark.slow

AUTO = "train_micro_batch_size_per_gpu: auto, train_batch_size: auto, gradient_accumulation_steps: auto"
ARGUMENTS = [
    "lora={r: 4, alpha: 8}", "trainer.per_device_train_batch_size=16", "trainer.max_steps=2",
]  # fmt: skip


def zero(stage: int) -> str:
    gather = ", stage3_gather_16bit_weights_on_model_save: true" if stage == 3 else ""
    return f"trainer.deepspeed={{zero_optimization: {{stage: {stage}{gather}}}, {AUTO}}}"


def learned(folder: Path) -> list[float]:
    """Loss and gradient norm of the first step, size and norm of the adapter after the last one."""
    from safetensors.torch import load_file

    first = records(folder / "metrics.jsonl")[0]
    tensors = load_file(folder / "adapter_model.safetensors").values()
    norm = sum(float(tensor.float().square().sum()) for tensor in tensors)
    return [first["loss"], first["grad_norm"], sum(tensor.numel() for tensor in tensors), norm]


def test_zero_learns_what_plain_data_parallel_learns(tmp_path: Path) -> None:
    pytest.importorskip("deepspeed", reason="DeepSpeed comes with the cpu and cuda extras")
    model = mini_model.build(mini_model.WarmStart(steps=30, rows=64, batch=8), tmp_path)
    found = {}
    for name, more in (("plain", []), ("zero2", [zero(2)]), ("zero3", [zero(3)])):
        folder, log = tmp_path / name, tmp_path / f"{name}.log"
        arguments = [f"model={model}", f"output_dir={folder}", *ARGUMENTS, *more]
        assert start(2, RECIPES / "mini" / "grpo_certainty.yaml", arguments, log).wait() == 0, log.read_text()
        assert (folder / "checkpoint-2" / "global_step2").is_dir() == bool(more)  # DeepSpeed's own state
        found[name] = learned(folder)
    assert found["plain"][0] != 0
    assert found["zero2"] == pytest.approx(found["plain"], rel=1e-4)
    assert found["zero3"] == pytest.approx(found["plain"], rel=1e-4)
