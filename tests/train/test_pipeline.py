"""A chain of recipes: references, seeds, a new start, and failures that are told."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tasks.errors import InputError
from train.pipeline import Config, run, units

RECIPES = Path(__file__).parents[2] / "recipes" / "mini"
TASK = "task={use: mini_hops, split: train, tasks: 12}"
STEPS: Mapping[str, Any] = {
    "record": {"recipe": "qd_record.yaml", "set": [TASK, "seed={seed}"]},
    "fork": {"recipe": "qd_fork.yaml", "set": [TASK, "seed={seed}", "records={record}", "n=3"]},
    "oracle": {"recipe": "qd_record.yaml", "set": [TASK, "seed={seed}", "policy.kind=oracle"]},
    "table": {
        "recipe": "qd_arms.yaml",
        "once": True,
        "set": ["arms={walker: {record}, oracle: {oracle}}"],
    },
}


def steps(**changes: Any) -> dict[str, Any]:
    return {
        name: {**section, "recipe": str(RECIPES / section["recipe"]), **changes.get(name, {})}
        for name, section in STEPS.items()
    }


def config(folder: Path, **changes: Any) -> Config:
    return Config(**{"steps": steps(), "recipes": RECIPES, "output_dir": folder, **changes})


def test_references_are_outputs_and_seeds(tmp_path: Path) -> None:
    found = {(one.name, one.seed): one for one in units(config(tmp_path, seeds=(3, 4)))}
    assert list(found)[-1] == ("table", None)
    assert found["fork", 4].overrides[1:3] == ("seed=4", f"records={tmp_path}/4/record")
    assert found["table", None].overrides == (
        f"arms={{walker: [{tmp_path}/3/record, {tmp_path}/4/record], "
        f"oracle: [{tmp_path}/3/oracle, {tmp_path}/4/oracle]}}",
    )
    assert found["table", None].output == tmp_path / "table"


@pytest.mark.slow
def test_a_chain_runs_once_and_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = config(tmp_path, seeds=(0, 1))
    settings.preflight(1)
    run(settings)
    told = capsys.readouterr().out
    assert "1/7 record, seed 0: " in told
    assert "7/7 table: " in told
    table = (tmp_path / "table" / "table.md").read_text()
    assert "over 2 training seeds; 24 episodes an arm" in table
    assert "| oracle | 1.000 ± 0.000 |" in table
    assert "| oracle | walker | equal-spend | coverage | +" in table
    assert (tmp_path / "table" / "readings.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "table" / "arms.json").read_text())["arms"]["oracle"][1]["runs"] == 12
    records = (tmp_path / "0" / "record" / "records").stat().st_mtime_ns
    run(settings)
    assert capsys.readouterr().out.count("done before") == 7
    assert (tmp_path / "0" / "record" / "records").stat().st_mtime_ns == records
    other = config(tmp_path, steps=steps(fork={"set": [TASK, "records={record}", "n=2"]}), seeds=(0, 1))
    with pytest.raises(InputError, match="fork, seed 0: done before under other settings"):
        run(other)


@pytest.mark.slow
def test_a_step_that_fails_is_told_with_its_log_and_runs_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = steps(table={"set": ["arms={walker: {record}}", "against=[[walker, nobody]]"]})
    with pytest.raises(InputError, match=r"table failed \(exit code 2\); the whole log: .*table\.log"):
        run(config(tmp_path, steps=broken))
    assert "against: 'nobody' is none of the arms: walker" in capsys.readouterr().err
    assert not (tmp_path / "steps" / "table.json").exists()
    run(config(tmp_path))
    assert (tmp_path / "table" / "table.md").is_file()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"steps": {}}, "steps: give at least one"),
        ({"seeds": ()}, "seeds: give each seed once"),
        ({"steps": {"a b": {}}}, "'a b' cannot be the name of a step"),
        ({"steps": steps(record={"set": ["records={fork}"]})}, "step 'record': {fork} is no earlier step"),
        ({"steps": steps(record={"set": ["cap=0"]})}, "step 'record': .*cap is 0"),
        ({"steps": steps(record={"set": ["capp=3"]})}, "step 'record': .*did you mean 'cap'"),
        ({"steps": steps(record={"once": True})}, "step 'record' runs once, for all seeds"),
        ({"steps": steps(record={"once": True, "set": []})}, "step 'fork': {record} runs after all seeds"),
        ({"steps": {"a": {"recipe": "nothing.yaml"}}}, "no such recipe"),
    ],
)
def test_wrong_chains_are_refused_before_anything_runs(
    changes: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=told):
        config(tmp_path, **changes).preflight(1)
    assert list(tmp_path.iterdir()) == []


def test_a_launcher_around_a_chain_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run it without a launcher"):
        config(tmp_path).preflight(2)


def test_a_step_names_its_launcher(tmp_path: Path) -> None:
    launched = steps(record={"launch": f"{Path('/bin/sh')} -c 'exit 3'"})
    with pytest.raises(InputError, match=r"record, seed 0 failed \(exit code 3\)"):
        run(config(tmp_path, steps=launched))
