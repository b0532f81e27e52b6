"""Studies: which runs there are, what the table says of them, and one cell replayed for real."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest

from tasks.errors import InputError
from train import mini_model, study
from train.recipe import load
from train.study_table import interval, table

BASE = Path(__file__).parents[2] / "recipes" / "mini" / "grpo_baseline.yaml"
CELLS: dict[str, Any] = {
    "plain": {},
    "label": {"set": ["rewards=[{use: format}, {use: certain_label}]"], "noises": ["noisy"], "seeds": [0]},
}
NOISES = {"clean": [], "noisy": ["task.label_noise.ask_as_call=0.6"]}


def config(folder: Path, **fields: Any) -> study.Config:
    settings: dict[str, Any] = {"recipe": BASE, "cells": CELLS, "noises": NOISES}
    return study.Config(**settings | {"seeds": (0, 1), "output_dir": folder / "out"} | fields)


def result(accuracy: float) -> dict[str, Any]:
    return {
        "accuracy": accuracy, "macro_f1": accuracy, "exact_calls": 0.5, "certainty_spread": None,
        "recall": {"tool_call": 1.0, "request_for_info": 0.5, "cannot_answer": 1.0},
        "hallucinated_call_rate": {"missing_argument": 0.25},
        "calibration": {"brier": 0.1, "ece": 0.2, "auroc": None},
    }  # fmt: skip


def store(plan: study.Config, unit: study.Unit, found: dict[str, Any]) -> None:
    path = unit.path(plan.output_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"overrides": list(unit.overrides)} | found))


def test_interval_is_the_paired_t_interval() -> None:
    # mean .2, sd .1, n 3: half width 4.3027 * .1 / sqrt 3 = .2484
    mean, low, high = interval([0.1, 0.2, 0.3])
    assert (mean, low, high) == pytest.approx((0.2, -0.0484, 0.4484), abs=1e-4)
    assert interval([0.1]) == (0.1, -math.inf, math.inf)


def test_units_come_cell_by_cell_and_cells_narrow_noises_and_seeds(tmp_path: Path) -> None:
    found = [(unit.cell, unit.seed, unit.noise) for unit in study.units(config(tmp_path))]
    plain = [("plain", seed, noise) for seed in (0, 1) for noise in ("clean", "noisy")]
    assert found == [*plain, ("label", 0, "noisy")]
    last = study.units(config(tmp_path, set=("trainer.max_steps=1",)))[-1].overrides
    assert last == ("trainer.max_steps=1", *NOISES["noisy"], *CELLS["label"]["set"], "seed=0")


def test_table_pairs_a_cell_with_its_twin_by_seed(tmp_path: Path) -> None:
    plan = config(tmp_path, cells={"plain": {}, "label": {}}, noises={"clean": []})
    scores = {("plain", 0): 0.5, ("plain", 1): 0.7, ("label", 0): 0.8, ("label", 1): 0.9}
    for unit in study.units(plan):
        store(plan, unit, result(scores[unit.cell, unit.seed]))
    line = table(plan).splitlines()[-1]
    # differences .3 and .2: mean .25, sd .0707, half width 12.7062 * .0707 / sqrt 2 = .635
    assert "| label | 2 | 0.850 (0.071) | +0.250 [-0.385, +0.885], better on 2/2 |" in line
    assert "0.100 / 0.200 / -" in line
    assert line.endswith("| 0.800 0.900 |")


def test_results_of_other_overrides_or_of_another_base_do_not_count(tmp_path: Path) -> None:
    base = tmp_path / "base.yaml"
    text = BASE.read_text(encoding="utf-8")
    base.write_text(text, encoding="utf-8")
    plan = config(tmp_path, recipe=base, cells={"plain": {}}, noises={"n": []}, seeds=(0, 1, 2))
    hashed, other, unhashed = study.units(plan)
    store(plan, hashed, {"recipe": study.fingerprint(base)})
    store(plan, other, {"overrides": ["trainer.max_steps=3", "seed=1"]})
    store(plan, unhashed, {})
    assert list(study.results(plan)["n", "plain"]) == [0, 2]
    logging = text.replace("logging_steps: 1", "logging_steps: 5").replace("grpo_baseline\n", "elsewhere\n")
    base.write_text(logging, encoding="utf-8")
    assert list(study.results(plan)["n", "plain"]) == [0, 2]
    base.write_text(text.replace("max_completion_length: 48", "max_completion_length: 32"), encoding="utf-8")
    assert list(study.results(plan)["n", "plain"]) == [2]


def test_a_twin_that_is_no_cell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="twin is 'base'"):
        config(tmp_path, twin="base")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("trainer.learning_rat=1", "learning_rate"),
        ("trainer.per_device_train_batch_size=5", "num_generations"),
    ],
)
def test_a_wrong_override_of_any_cell_is_refused_before_the_first_run(
    tmp_path: Path, wrong: str, told: str
) -> None:
    plan = config(tmp_path, cells={"plain": {}, "rate": {"set": [wrong]}})
    with pytest.raises(InputError, match=rf"cell 'rate', noise 'clean': .*{told}"):
        plan.preflight(1)


def test_the_demo_checks_its_overrides(tmp_path: Path) -> None:
    from train import demo

    with pytest.raises(InputError, match=r"cell 'plain', noise 'labels': .*seed"):
        demo.Config(BASE, ("sed=1",), (), tmp_path).preflight(1)


def test_check_looks_into_every_cell(tmp_path: Path) -> None:
    from train.check import check

    study_file = Path(__file__).parents[2] / "recipes" / "mini" / "certainty_study.yaml"
    with pytest.raises(InputError, match="cell 'label'"):
        check(str(study_file), ["cells.label.set=[trainer.max_step=1]"])


@pytest.mark.slow
def test_units_that_fail_are_named_in_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "no_model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    settings = (f"model={folder}", "task.train_rows=16", "trainer.max_steps=1")
    plan = config(tmp_path, cells={"plain": {}}, noises={"n": []}, set=settings, workers=1)
    with pytest.raises(RuntimeError, match=r"2 of 2 units failed: n plain seed 0 \(.*; n plain seed 1 \("):
        study.run(plan)


@pytest.mark.slow
def test_one_cell_replayed_then_nothing_left_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = mini_model.build(mini_model.WarmStart(steps=60, rows=200), tmp_path / "cache")
    settings = ["trainer.max_steps=2", "trainer.per_device_train_batch_size=16", "task.test_rows=32"]
    plan = config(
        tmp_path, cells={"plain": {}}, noises={"noisy": NOISES["noisy"]}, seeds=(0,), workers=1,
        set=(f"model={start}", "task.train_rows=64", *settings),
    )  # fmt: skip
    study.run(plan)
    ((_, runs),) = study.results(plan).items()
    assert runs[0]["n"] == 32
    assert runs[0]["certainty_spread"] >= 0
    assert "1/1 noisy plain seed 0 done" in capsys.readouterr().out
    study.run(plan)
    assert "done" not in capsys.readouterr().out
    (unit,) = study.units(plan)
    stored = json.loads(unit.path(plan.output_dir).read_text())
    store(plan, unit, stored | {"overrides": ["trainer.max_steps=9"]})
    study.run(plan)
    told = capsys.readouterr().out
    assert "noisy plain seed 0: its result is of another recipe, it runs again" in told
    assert "1/1 noisy plain seed 0 done" in told


@pytest.mark.slow
def test_the_demo_prints_its_three_policies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from train import demo

    start = mini_model.build(mini_model.WarmStart(steps=60, rows=200), tmp_path / "cache")
    mini = Path(__file__).parents[2] / "recipes" / "mini"
    shipped = load(mini / "demo.yaml").config
    small = ("trainer.per_device_train_batch_size=16", "task.train_rows=64", "task.test_rows=32")
    labels = (*shipped.labels, f"model={start}", *small)
    demo.run(dataclasses.replace(shipped, labels=labels, steps=2, output_dir=tmp_path / "out"))
    told = capsys.readouterr().out
    rows = [line for line in told.splitlines() if line.endswith("| 32 |")]
    assert [row.split(" | ")[0] for row in rows] == [f"| {title}" for title in demo.TITLES.values()]
    assert list((tmp_path / "out").glob("runs/labels/plain/0/plots/*.png"))
