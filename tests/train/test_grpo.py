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

TRAINER = {
    "max_steps": 2, "learning_rate": 1e-3, "num_generations": 4, "per_device_train_batch_size": 16,
    "max_completion_length": 24, "gradient_checkpointing": False, "logging_steps": 1, "save_steps": 2,
    "report_to": "none", "disable_tqdm": True,
}  # fmt: skip


@pytest.fixture(scope="session")
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


def metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_a_run_leaves_a_policy_and_what_a_person_needs_to_judge_it(start: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    grpo.run(config(start, tmp_path / "run"))
    assert [line["step"] for line in metrics(tmp_path / "run")] == [1, 2]
    assert {"recipe.yaml", "versions.json", "data.json", "tasks.json"} <= {p.name for p in (tmp_path / "run").iterdir()}
    assert list((tmp_path / "run" / "transcripts").glob("*.md")) and list((tmp_path / "run" / "plots").glob("*.png"))
    before = AutoModelForCausalLM.from_pretrained(start).state_dict()
    after = AutoModelForCausalLM.from_pretrained(tmp_path / "run").state_dict()
    assert any(not before[name].equal(after[name]) for name in before)


def test_a_resumed_run_goes_on_as_if_it_had_never_stopped(start: Path, tmp_path: Path) -> None:
    grpo.run(config(start, tmp_path / "whole", {"max_steps": 4}))
    grpo.run(config(start, tmp_path / "halves"))
    grpo.run(config(start, tmp_path / "halves", {"max_steps": 4}))
    whole, halves = metrics(tmp_path / "whole"), metrics(tmp_path / "halves")
    assert [line["step"] for line in halves] == [1, 2, 3, 4]
    for key in ("loss", "reward", "grad_norm", "completions/mean_length"):
        assert [line[key] for line in halves] == [line[key] for line in whole], key


def test_another_recipe_may_not_use_the_folder(start: Path, tmp_path: Path) -> None:
    grpo.run(config(start, tmp_path / "run"))
    with pytest.raises(InputError, match="learning_rate"):
        grpo.run(config(start, tmp_path / "run", {"learning_rate": 2e-3}))


def test_an_adapter_loads_with_plain_peft(start: Path, tmp_path: Path) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    lora = {"r": 4, "alpha": 8, "targets": ["q_proj", "v_proj"]}
    grpo.run(config(start, tmp_path / "run", lora=lora))
    policy = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(start), str(tmp_path / "run"))
    learned = [tensor for name, tensor in policy.state_dict().items() if "lora_B" in name]
    assert len(learned) == 4 and all(tensor.abs().sum() > 0 for tensor in learned)


def advantages(start: Path, folder: Path, **fields: Any) -> list[float]:
    """The advantages of one generation batch, in input order, and the tasks' indices."""
    settings = config(start, folder, **fields)
    task_set = sources.load(settings.task, "train", settings.seed)
    trainer = grpo.build(settings, task_set, RunDir.open(folder, {}, task_set.hashes))
    import torch

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
    assert any(weight < 1 for weight in weights) and any(plain)
    assert weighted == pytest.approx([w * a for w, a in zip(weights, plain, strict=True)], abs=1e-6)
