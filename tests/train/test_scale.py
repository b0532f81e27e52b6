"""The recipes of `recipes/scale` on two ranks of the CPU: each learns what one process learns.

The model is a small one and the completions are scripted, the same on any number of ranks; sharding and
optimizer are the recipe's. FSDP2 does not run on a CPU, see tests/train/check/test_fsdp.py.
"""

from pathlib import Path

import pytest

from tests.servers import Server
from tests.train.ranks import RECIPES, start
from train import mini_model
from train.metrics_log import records

pytestmark = pytest.mark.slow

SMALL = [
    "task={use: mini, train_rows: 64}", "dtype=float32", "max_prompt_length=400",
    "generator={kind: scripted, script: tests.train.scripts.by_seed}", "trainer.use_vllm=false",
    "trainer.use_cpu=true", "trainer.bf16=false", "trainer.max_completion_length=48",
    "trainer.gradient_accumulation_steps=1", "trainer.learning_rate=1e-3",
    "trainer.max_steps=3", "trainer.save_steps=3", "trainer.lr_scheduler_type=constant",
]  # fmt: skip
VOWELS = "rewards=[{use: tests.train.scripts.vowels}]"  # differs in every group
SIZE = {"lora": "lora={r: 4, alpha: 8}", "full": "lora=null"}


def learned(folder: Path) -> list[float]:
    """Loss, gradient norm and reward of each step; size and norm of what was saved after the last one."""
    from safetensors.torch import load_file

    lines = [(line["loss"], line["grad_norm"], line["reward"]) for line in records(folder / "metrics.jsonl")]
    assert len(lines) == 3
    assert any(loss for loss, *_ in lines)
    (file,) = folder.glob("*model.safetensors")
    # DeepSpeed saves a tied head once more.
    tensors = [tensor for name, tensor in load_file(file).items() if name != "lm_head.weight"]
    norm = sum(float(tensor.float().square().sum()) for tensor in tensors)
    return [*(value for line in lines for value in line), sum(tensor.numel() for tensor in tensors), norm]


def run(ranks: int, recipe: str, model: Path, folder: Path, *more: str) -> list[float]:
    log = folder.with_suffix(".log")
    arguments = [
        f"model={model}", f"output_dir={folder}", f"trainer.per_device_train_batch_size={16 // ranks}",
        *SMALL, SIZE[recipe[:4]], *more,
    ]  # fmt: skip
    assert start(ranks, RECIPES / "scale" / f"{recipe}.yaml", arguments, log).wait() == 0, log.read_text()
    assert len(list((folder / "checkpoint-3").glob("rng_state*.pth"))) == ranks  # each rank keeps its own
    return learned(folder)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mini_model.build(mini_model.WarmStart(steps=30, rows=64, batch=8), tmp_path_factory.mktemp("mini"))


@pytest.fixture(scope="module")
def alone(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    """What one process learns with all completions on it."""
    folder = tmp_path_factory.mktemp("alone")
    return {kind: run(1, f"{kind}_ddp", model, folder / kind) for kind in SIZE}


@pytest.mark.parametrize("kind", ["lora", "full"])
@pytest.mark.parametrize("sharding", ["ddp", "zero2", "zero3"])
def test_two_ranks_learn_what_one_process_learns(
    kind: str, sharding: str, model: Path, alone: dict[str, list[float]], tmp_path: Path
) -> None:
    if sharding != "ddp":
        pytest.importorskip("deepspeed", reason="DeepSpeed comes with the cpu and cuda extras")
    found = run(2, f"{kind}_{sharding}", model, tmp_path / "run")
    assert found == pytest.approx(alone[kind], abs=1e-4, rel=1e-4)
    state = tmp_path / "run" / "checkpoint-3" / "global_step3"  # DeepSpeed's own
    assert state.is_dir() == (sharding != "ddp")


def test_ranks_share_a_server_that_follows_the_policy(model: Path, tmp_path: Path) -> None:
    """Rank 0 asks for all; the completions are each rank's own."""
    pytest.importorskip("vllm", reason="vLLM comes with the cpu and cuda extras")
    server = Server(model, tmp_path / "server.log", max_model_len=450, lora_rank=8)
    try:
        server.start().wait()
        generator = f"generator={{kind: vllm_server, urls: [{server.url}]}}"
        run(2, "lora_ddp", model, tmp_path / "run", generator, VOWELS, "trainer.learning_rate=1e-2")
    finally:
        server.kill()
    for line in records(tmp_path / "run" / "metrics.jsonl"):
        assert line["sampling/sampling_logp_difference/max"] < 1e-4
        assert line["grad_norm"] > 0


def test_each_rank_has_an_engine_that_follows_the_policy(model: Path, tmp_path: Path) -> None:
    """Under ZeRO-3 each rank holds half of every parameter; the engines' adapters are whole all the same."""
    pytest.importorskip("vllm", reason="vLLM comes with the cpu and cuda extras")
    pytest.importorskip("deepspeed", reason="DeepSpeed comes with the cpu and cuda extras")
    engine = "generator={kind: vllm, gpu_memory_utilization: 0.05, enforce_eager: true}"
    run(2, "lora_zero3", model, tmp_path / "run", engine, VOWELS, "trainer.learning_rate=1e-2")
    for line in records(tmp_path / "run" / "metrics.jsonl"):
        assert line["sampling/sampling_logp_difference/max"] < 1e-4
        assert line["grad_norm"] > 0
