"""GRPO runs on TRL for real: a few steps of the mini model, resumed, with LoRA, with weighted rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from tasks import sources
from tasks.errors import InputError
from tasks.strict import build
from train import grpo, mini_model
from train.run_dir import RunDir

pytestmark = pytest.mark.slow

TRAINER = {
    "max_steps": 2, "learning_rate": 1e-3, "lr_scheduler_type": "constant", "num_generations": 4,
    "per_device_train_batch_size": 16, "max_completion_length": 24, "gradient_checkpointing": False,
    "logging_steps": 1, "save_steps": 2, "report_to": "none", "disable_tqdm": True,
}  # fmt: skip
LORA = {"r": 4, "alpha": 8, "targets": ["q_proj", "v_proj"]}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A mini model that has seen a little: enough to make calls and to differ between samples."""
    cache = tmp_path_factory.mktemp("mini")
    return mini_model.build(mini_model.WarmStart(steps=120, rows=400), cache)


def config(start: Path, folder: Path, trainer: dict[str, Any] | None = None, **fields: Any) -> grpo.Config:
    recipe = {
        "model": str(start),
        "task": {"use": "mini", "train_rows": 64},
        "rewards": [{"use": "format"}, {"use": "tool_match", "credit": "partial"}, {"use": "action_class"}],
        "output_dir": str(folder),
        "trainer": TRAINER | (trainer or {}),
    }
    return build(grpo.Config, recipe | fields, "test", folder)


def metrics(folder: Path, *names: str) -> list[tuple[Any, ...]]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [tuple(line[name] for name in names) for line in lines]


def test_a_run_leaves_a_policy_and_what_a_person_needs_to_judge_it(start: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    grpo.run(config(start, tmp_path))
    assert metrics(tmp_path, "step") == [(1,), (2,)]
    assert {"recipe.yaml", "versions.json", "data.json", "tasks.json"} <= {p.name for p in tmp_path.iterdir()}
    assert len(list(tmp_path.glob("transcripts/*.md"))) == 2
    assert list(tmp_path.glob("plots/*.png"))
    before = AutoModelForCausalLM.from_pretrained(start).state_dict()
    after = AutoModelForCausalLM.from_pretrained(tmp_path).state_dict()
    assert any(not before[name].equal(after[name]) for name in before)


def test_a_resumed_run_goes_on_as_if_it_had_never_stopped(start: Path, tmp_path: Path) -> None:
    grpo.run(config(start, tmp_path / "whole", {"max_steps": 4}))
    grpo.run(config(start, tmp_path / "halves"))
    grpo.run(config(start, tmp_path / "halves", {"max_steps": 4}))
    names = ("step", "loss", "reward", "grad_norm", "completions/mean_length")
    assert metrics(tmp_path / "halves", *names) == metrics(tmp_path / "whole", *names)
    assert len(metrics(tmp_path / "whole", "step")) == 4


def test_an_adapter_learns_the_same_with_checkpointing_and_loads_with_plain_peft(
    start: Path, tmp_path: Path
) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    for name, checkpointing in (("plain", False), ("saving", True)):
        grpo.run(config(start, tmp_path / name, {"gradient_checkpointing": checkpointing}, lora=LORA))
    plain, saving = (metrics(tmp_path / name, "loss", "grad_norm") for name in ("plain", "saving"))
    assert [x for line in saving for x in line] == pytest.approx(
        [x for line in plain for x in line], rel=1e-4
    )
    policy = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(start), str(tmp_path / "saving"))
    learned = [tensor for name, tensor in policy.state_dict().items() if "lora_B" in name]
    assert len(learned) == 4
    assert all(tensor.abs().sum() > 0 for tensor in learned)


def advantages(start: Path, folder: Path, **fields: Any) -> list[float]:
    """The advantages of one generation batch of 16 prompts, in input order."""
    import torch

    settings = config(start, folder, **fields)
    task_set = sources.load(settings.task, "train", settings.seed)
    trainer = grpo.build(settings, task_set, RunDir.open(folder, {}, task_set.hashes))
    torch.manual_seed(0)
    rows = [trainer.train_dataset[i // 4] for i in range(64)]
    found: list[float] = trainer._generate_and_score_completions(rows)["advantages"].tolist()
    return found


def test_row_weights_scale_the_advantages_and_nothing_else(start: Path, tmp_path: Path) -> None:
    from rewards.label_certainty import label_reliability

    noisy = {"use": "mini", "train_rows": 64, "label_noise": {"ask_as_call": 1.0}}
    plain = advantages(start, tmp_path / "plain", task=noisy)
    weight = {"row_weight": "label_certainty", "support": "share"}
    weighted = advantages(start, tmp_path / "weighted", task=noisy, advantage=weight)
    tasks = sources.load(noisy, "train", 0).tasks
    weights = [label_reliability(tasks[i // 4], form="share") for i in range(64)]
    assert any(weight < 1 for weight in weights)
    assert any(plain)
    assert weighted == pytest.approx([w * a for w, a in zip(weights, plain, strict=True)], abs=1e-6)


def test_fewer_prompts_than_a_generation_takes_are_repeated(caplog: pytest.LogCaptureFixture) -> None:
    task_set = sources.load({"use": "mini", "train_rows": 3}, "train", 0)
    words = mini_model.tokenizer()
    assert grpo.prompts(task_set, words, 3)["task_index"] == [0, 1, 2]
    assert not caplog.records
    rows = grpo.prompts(task_set, words, 8)
    assert rows["task_index"] == [0, 1, 2] * 3
    assert rows["prompt"][:3] == rows["prompt"][6:]
    assert "3 prompts are fewer than the 8 of one generation" in caplog.text


def test_what_trl_finds_wrong_is_bad_input(start: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"trainer: .*generation"):
        grpo.run(config(start, tmp_path, {"num_generations": 3}))


def test_a_run_that_cannot_be_built_lets_go_of_its_engine(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []

    class Source:
        def close(self) -> None:
            closed.append("engine")

    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("no memory left")

    monkeypatch.setattr("train.rollouts.build", lambda *_: Source())
    monkeypatch.setattr("train.grpo_trainer.Trainer", fails)
    monkeypatch.setattr("train.watchdog.Watchdog.stop", lambda _: closed.append("watchdog"))
    with pytest.raises(RuntimeError, match="no memory left"):
        grpo.run(config(start, tmp_path))
    assert closed == ["watchdog", "engine"]
