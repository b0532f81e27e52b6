"""The shipped stages on two ranks of the CPU, and after a kill: what one whole run learns."""

import time
from pathlib import Path

import pytest

from tests.train.ranks import RECIPES, start
from tests.train.stage_rows import export, imitation, imitation_row, pair_row
from train import imitate
from train.metrics_log import records

pytestmark = pytest.mark.slow

SMALL = [
    "dtype=float32", "trainer.use_cpu=true", "trainer.bf16=false", "trainer.learning_rate=1e-2",
    "trainer.lr_scheduler_type=constant", "trainer.num_train_epochs=9",
    "trainer.per_device_train_batch_size=2", "trainer.disable_tqdm=true",
]  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights that differ between the ranks of one window."""
    weights = [4.0 if i % 4 < 2 else 0.25 + i for i in range(16)]
    return export(
        tmp_path_factory.mktemp("export"),
        imitation=[imitation_row(i, weight=weights[i]) for i in range(16)],
        pairs=[pair_row(i, weight=weights[i]) for i in range(16)],
    )


@pytest.fixture(scope="module")
def adapter(tiny_qwen3: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start") / "adapter"
    imitate.run(imitation(tiny_qwen3, data, folder))
    return folder


def arguments(stage: str, model: Path, data: Path, adapter: Path, folder: Path, *more: str) -> list[str]:
    own = {
        "qd_imitate": "lora={r: 4, alpha: 8, targets: [q_proj, v_proj]}", "qd_pairs": f"adapter={adapter}",
    }  # fmt: skip
    return [f"model={model}", f"data={data}", f"output_dir={folder}", own[stage], *SMALL, *more]


def learned(folder: Path) -> list[float]:
    """Loss and gradient norm of each step, and what was saved in the end."""
    from safetensors.torch import load_file

    lines = [(line["loss"], line["grad_norm"]) for line in records(folder / "metrics.jsonl")]
    tensors = load_file(folder / "adapter_model.safetensors")
    assert not list(folder.rglob("ref"))
    return [
        *(value for line in lines for value in line),
        *(float(tensors[name].float().square().sum()) for name in sorted(tensors)),
    ]


ZERO3 = (
    "trainer.deepspeed={zero_optimization: {stage: 3, stage3_gather_16bit_weights_on_model_save: true}, "
    "train_micro_batch_size_per_gpu: auto, train_batch_size: auto, gradient_accumulation_steps: auto}"
)


@pytest.mark.parametrize(
    ("stage", "sharding"),
    [
        ("qd_imitate", "ddp"),
        ("qd_pairs", "ddp"),
        pytest.param("qd_pairs", "zero3", marks=pytest.mark.soak),
    ],
)
def test_two_ranks_learn_what_one_process_learns(
    stage: str, sharding: str, tiny_qwen3: Path, data: Path, adapter: Path, tmp_path: Path
) -> None:
    if sharding == "zero3":
        pytest.importorskip("deepspeed", reason="DeepSpeed comes with the cpu and cuda extras")
    found = {}
    for ranks in (1, 2):
        folder = tmp_path / f"run{ranks}"
        steps = ("trainer.max_steps=3", f"trainer.gradient_accumulation_steps={4 // ranks}")
        given = arguments(stage, tiny_qwen3, data, adapter, folder, "trainer.save_steps=3", *steps)
        given += [ZERO3] if ranks > 1 and sharding == "zero3" else []
        log = folder.with_suffix(".log")
        assert start(ranks, RECIPES / f"{stage}.yaml", given, log).wait() == 0, log.read_text()
        assert len(list((folder / "checkpoint-3").glob("rng_state*.pth"))) == ranks
        found[ranks] = learned(folder)
    assert len(found[1]) > 6
    assert found[2] == pytest.approx(found[1], rel=1e-4, abs=1e-5)


def test_a_killed_run_ends_in_the_tensors_of_a_whole_one(
    tiny_qwen3: Path, data: Path, adapter: Path, tmp_path: Path
) -> None:
    found = {}
    for name in ("whole", "killed"):
        folder, log = tmp_path / name, tmp_path / f"{name}.log"
        more = ("trainer.save_steps=2", "trainer.max_steps=12", "trainer.gradient_accumulation_steps=4")
        given = arguments("qd_pairs", tiny_qwen3, data, adapter, folder, *more)
        process = start(1, RECIPES / "qd_pairs.yaml", given, log)
        if name == "killed":
            while process.poll() is None and len(records(folder / "metrics.jsonl")) < 5:
                time.sleep(0.02)
            process.kill()
            process.wait()
            assert not (folder / "finished.json").exists(), "it was over before it could be killed"
            process = start(1, RECIPES / "qd_pairs.yaml", given, log)
        assert process.wait() == 0, log.read_text()
        found[name] = learned(folder)
    assert len(records(tmp_path / "killed" / "metrics.jsonl")) == 12
    assert found["killed"] == found["whole"]
