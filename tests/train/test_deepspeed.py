"""Two ranks on the CPU: data parallel, ZeRO-2 and ZeRO-3 learn what one process learns."""

from pathlib import Path

import pytest

from tests.train.ranks import RECIPES, start
from train import mini_model
from train.metrics_log import records

pytestmark = pytest.mark.slow

AUTO = "train_micro_batch_size_per_gpu: auto, train_batch_size: auto, gradient_accumulation_steps: auto"
ARGUMENTS = [
    "lora={r: 4, alpha: 8}", "trainer.max_steps=3", "trainer.save_steps=3",
    "generator={kind: scripted, script: tests.train.scripts.by_seed}",
]  # fmt: skip


def zero(stage: int) -> str:
    gather = ", stage3_gather_16bit_weights_on_model_save: true" if stage == 3 else ""
    return f"trainer.deepspeed={{zero_optimization: {{stage: {stage}{gather}}}, {AUTO}}}"


def learned(folder: Path) -> list[float]:
    """Loss, gradient norm and reward of each step; size and norm of the adapter after the last one."""
    from safetensors.torch import load_file

    lines = [(line["loss"], line["grad_norm"], line["reward"]) for line in records(folder / "metrics.jsonl")]
    assert len(lines) == 3
    assert any(loss for loss, *_ in lines)
    tensors = load_file(folder / "adapter_model.safetensors").values()
    norm = sum(float(tensor.float().square().sum()) for tensor in tensors)
    return [*(value for line in lines for value in line), sum(tensor.numel() for tensor in tensors), norm]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float]]:
    """A model, and what one process learns with all completions on it."""
    folder = tmp_path_factory.mktemp("alone")
    model = mini_model.build(mini_model.WarmStart(steps=30, rows=64, batch=8), folder)
    return model, run(1, model, folder / "run")


def run(ranks: int, model: Path, folder: Path, *more: str) -> list[float]:
    log = folder.with_suffix(".log")
    arguments = [
        f"model={model}", f"output_dir={folder}", f"trainer.per_device_train_batch_size={32 // ranks}",
        *ARGUMENTS, *more,
    ]  # fmt: skip
    assert start(ranks, RECIPES / "mini" / "grpo_certainty.yaml", arguments, log).wait() == 0, log.read_text()
    # Each rank of a run with its own state leaves it: so many ranks there were.
    assert len(list((folder / "checkpoint-3").glob("rng_state*.pth"))) == ranks
    return learned(folder)


def test_data_parallel_learns_what_one_process_learns(
    alone: tuple[Path, list[float]], tmp_path: Path
) -> None:
    model, expected = alone
    assert run(2, model, tmp_path / "run") == pytest.approx(expected, abs=1e-4, rel=1e-4)


@pytest.mark.parametrize("stage", [2, 3])
def test_zero_learns_what_one_process_learns(
    alone: tuple[Path, list[float]], stage: int, tmp_path: Path
) -> None:
    pytest.importorskip("deepspeed", reason="DeepSpeed comes with the cpu and cuda extras")
    model, expected = alone
    assert run(2, model, tmp_path / "run", zero(stage)) == pytest.approx(expected, abs=1e-4, rel=1e-4)
    assert (tmp_path / "run" / "checkpoint-3" / "global_step3").is_dir()  # DeepSpeed's own state


def test_each_rank_has_an_engine_that_follows_the_policy(
    alone: tuple[Path, list[float]], tmp_path: Path
) -> None:
    """Under ZeRO-3 each rank holds half of every parameter; the engines' adapters are whole all the same."""
    pytest.importorskip("vllm", reason="vLLM comes with the cpu and cuda extras")
    pytest.importorskip("deepspeed", reason="DeepSpeed comes with the cpu and cuda extras")
    model, _ = alone
    engine = "generator={kind: vllm, gpu_memory_utilization: 0.05, enforce_eager: true}"
    reward = "rewards=[{use: tests.train.scripts.vowels}]"
    run(2, model, tmp_path / "run", zero(3), engine, reward, "trainer.learning_rate=1e-2")
    for line in records(tmp_path / "run" / "metrics.jsonl"):
        assert line["sampling/sampling_logp_difference/max"] < 1e-4
        assert line["grad_norm"] > 0
