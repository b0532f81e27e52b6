"""GRPO of a questioner on its own runs: rewards are those of its moves, and it learns to stop."""

import json
from pathlib import Path
from typing import Any

import pytest

from rollout.agents.config import MiniRole
from tasks import multi_hop_sources
from tasks.errors import InputError
from train import mini_hops_model, models, online
from train.grpo_config import Lora
from train.online import Config
from train.recipe import load
from train.run_dir import RunDir

TASK = {"use": "mini_hops", "split": "train", "tasks": 24}
TRAINER = {
    "max_steps": 2, "num_generations": 4, "per_device_train_batch_size": 16, "max_completion_length": 20,
    "learning_rate": 1e-3, "use_cpu": True, "bf16": False, "gradient_checkpointing": False,
    "report_to": "none", "logging_steps": 1, "save_steps": 1,
}  # fmt: skip


def config(folder: Path, model: str = "mini_hops", **changes: Any) -> Config:
    fields = {"task": TASK, "drafter": MiniRole("mini"), "lora": Lora(4, 8.0), "trainer": TRAINER}
    return Config(**{"model": model, "output_dir": folder, **fields, **changes})


@pytest.fixture(scope="module")
def questioner(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny questioner that has hardly learned anything."""
    start = mini_hops_model.WarmStart(episodes=60, steps=30, batch=8)
    return str(mini_hops_model.build(start, tmp_path_factory.mktemp("mini_hops")))


@pytest.mark.slow
def test_a_run_leaves_an_adapter_and_its_readings(questioner: str, tmp_path: Path) -> None:
    online.run(config(tmp_path / "run", questioner))
    left = {entry.name for entry in (tmp_path / "run").iterdir()}
    assert {"adapter_config.json", "adapter_model.safetensors", "lineage.json", "README.md"} <= left
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2]
    for line in lines:
        assert {"questioner/ask_given_not_done", "questioner/coverage", "questioner/malformed"} <= set(line)
        assert line["rewards/consequence/mean"] <= 0.5
        assert line["sampling/importance_sampling_ratio/mean"] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.slow
def test_groups_share_a_prompt_and_repeat_under_a_seed(questioner: str, tmp_path: Path) -> None:
    made = []
    for name in ("a", "b"):
        settings = config(tmp_path / name, questioner)
        tasks = multi_hop_sources.load(TASK, 0)
        arguments = online.training_arguments(settings)
        run_dir = RunDir.open(tmp_path / name, {}, {})
        model = models.locate(questioner, 0, arguments)
        trainer, engines = online.build(settings, tasks, model, arguments, run_dir)
        trainer.rows = [{"task_index": place // 4} for place in range(16)]
        assert trainer.rollouts is not None
        made.append(trainer.rollouts([""] * 16, trainer))
        engines.close()
    assert made[0] == made[1]
    prompts = [tuple(ids) for ids in made[0]["prompt_ids"]]
    assert all(len(set(prompts[place : place + 4])) == 1 for place in range(0, 16, 4))
    assert len({len(values) for values in made[0].values()}) == 1
    assert all(reward is not None for reward in made[0]["consequence"])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"lora": None}, "adapter is not given"),
        ({"trainer": {**TRAINER, "num_generations": 5}}, "multiple of it"),
        ({"trainer": {**TRAINER, "deepspeed": {"zero_optimization": {"stage": 3}}}}, "a sharded policy"),
    ],
)
def test_what_cannot_run_is_refused(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        config(tmp_path, **changes).preflight(1)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"adapter": Path("a")}, "give either lora"),
        ({"trainer": {"beta": 0.1}}, "the reference would be the base model"),
        ({"trainer": {"seed": 1}}, "it stands at the top"),
        ({"cap": 0}, "cap is 0"),
    ],
)
def test_settings_that_are_none(changes: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told):
        config(tmp_path, **changes)


def test_what_fails_while_it_is_built_leaves_nothing_running(
    questioner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rollout.agents.build import Built
    from train.watchdog import Watchdog

    stopped: list[str] = []
    monkeypatch.setattr(Built, "close", lambda self: stopped.append("roles"))
    monkeypatch.setattr(Watchdog, "stop", lambda self: stopped.append("watchdog"))
    monkeypatch.setattr("train.stage_log.StageLog.attach", lambda *_: 1 / 0)
    settings = config(tmp_path / "run", questioner)
    tasks = multi_hop_sources.load(TASK, 0)
    arguments = online.training_arguments(settings)
    run_dir = RunDir.open(tmp_path / "run", {}, {})
    with pytest.raises(ZeroDivisionError):
        online.build(settings, tasks, questioner, arguments, run_dir)
    assert stopped == ["roles", "watchdog"]


def test_a_type_that_is_none_is_refused_as_the_recipe_is_read() -> None:
    recipe = Path(__file__).parents[2] / "recipes" / "mini" / "qd_online.yaml"
    with pytest.raises(InputError, match="'dtype' is 'float8'"):
        load(recipe, ["dtype=float8"])
