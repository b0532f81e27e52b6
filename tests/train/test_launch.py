"""Every way of starting a recipe, with a job that imports nothing heavy."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.train.conftest import Folder
from train import launch

BIN = Path(sys.executable).parent


def start(
    folder: Folder, *command: object, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command from a folder that is neither the checkout nor the recipe's."""
    elsewhere = folder.path / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    variables = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "HF_HOME": str(folder.path / "hf")}
    variables |= {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", **(env or {})}
    return subprocess.run(
        [str(part) for part in command],
        cwd=elsewhere,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )


def told(folder: Folder, rank: int = 0, out: str = "elsewhere/out") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder.path / out / f"rank{rank}.json").read_text())
    return found


@pytest.mark.parametrize(
    "command", [("python",), ("python", "-m", "train"), ("askrl", "run")], ids=["python", "module", "askrl"]
)
def test_one_process_from_any_folder_with_overrides(folder: Folder, command: tuple[str, ...]) -> None:
    own = f"own_{folder.job}"
    folder.write(f"{own}.py", "def short(task, completion): return 1.0\n")
    recipe = folder.recipe(f"rewards: [{{use: {own}.short}}]", name="deep/recipe.yaml")
    # job and reward lie beside the recipe
    for module in (folder.job, own):
        (folder.path / f"{module}.py").rename(recipe.parent / f"{module}.py")
    done = start(folder, *command, recipe, "steps=5", "rewards.0.weight=0.5")
    assert (done.returncode, done.stderr) == (0, "")
    config = told(folder)["config"]
    assert config["steps"] == 5
    assert config["rewards"][0] == {"use": f"{own}.short", "weight": 0.5, "warmup_steps": 0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranks", "command"),
    [
        (1, ("accelerate", "launch")),
        (1, ("accelerate", "launch", "-m", "train")),
        (2, ("accelerate", "launch", "--multi_gpu", "--num_processes", "2")),
        (2, ("torchrun", "--nproc_per_node", "2")),
    ],
    ids=["accelerate", "accelerate-module", "accelerate-two", "torchrun-two"],
)
def test_launchers(folder: Folder, ranks: int, command: tuple[str, ...]) -> None:
    done = start(folder, *command, folder.recipe(), "steps=5", "output_dir=other")
    assert done.returncode == 0, done.stderr
    for rank in range(ranks):
        one = told(folder, rank, "elsewhere/other")
        assert one["config"]["steps"] == 5
        assert int(one["world"]) == ranks


@pytest.mark.slow
def test_of_two_ranks_one_speaks_and_the_run_fails(folder: Folder) -> None:
    done = start(folder, "torchrun", "--nproc_per_node", "2", folder.recipe("stepz: 1"))
    assert done.returncode != 0
    assert done.stderr.count("unknown key 'stepz'; did you mean 'steps'?") == 1


@pytest.mark.parametrize("command", [("python",), ("python", "-m", "train"), ("askrl", "run")])
def test_bad_input_is_one_line_and_exit_code_2(folder: Folder, command: tuple[str, ...]) -> None:
    done = start(folder, *command, folder.recipe("stepz: 1"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "askrl: recipe.yaml: unknown key 'stepz'; did you mean 'steps'?\n"


def test_an_error_inside_the_job_keeps_its_traceback(folder: Folder) -> None:
    (folder.path / f"{folder.job}.py").write_text(
        "from dataclasses import dataclass\n@dataclass\nclass Config:\n    output_dir: str\n"
        "def run(config):\n    raise RuntimeError('a bug')\n"
    )
    done = start(folder, "python", folder.recipe())
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "a bug" in done.stderr


def test_a_job_may_refuse_before_it_runs(folder: Folder) -> None:
    folder.write(
        f"{folder.job}.py", "from train.grpo_config import Config\ndef run(config): raise SystemExit(9)\n"
    )
    recipe = folder.recipe("model: owner/model\ntask: {use: mini}\nrewards: [{use: format}]")
    done = start(folder, "python", recipe, "trainer.num_generations=3")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "nearest valid: per_device_train_batch_size 6 or 9" in done.stderr
    assert start(folder, "python", recipe).returncode == 9


def test_processes_started_by_spawn_do_not_run_the_recipe_again(folder: Folder) -> None:
    (folder.path / f"{folder.job}.py").write_text(
        "import multiprocessing, os\nfrom dataclasses import dataclass\nfrom pathlib import Path\n"
        "@dataclass\nclass Config:\n    output_dir: Path\n"
        "def child(path): path.write_text('child')\n"
        "def run(config):\n"
        "    config.output_dir.mkdir()\n"  # fails the second time
        "    process = multiprocessing.get_context('spawn').Process(\n"
        "        target=child, args=(config.output_dir / 'child',))\n"
        "    process.start(); process.join(); assert process.exitcode == 0\n"
    )
    recipe = folder.recipe()
    for number, command in enumerate([("python",), ("python", "-m", "train"), ("askrl", "run")]):
        done = start(folder, *command, recipe, f"output_dir=out{number}")
        assert (done.returncode, done.stderr) == (0, "")
        assert (folder.path / "elsewhere" / f"out{number}" / "child").read_text() == "child"


def test_no_recipe_is_told() -> None:
    done = subprocess.run([sys.executable, "-m", "train"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no recipe given" in done.stderr


def test_other_ranks_wait_for_the_first(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("train.time.sleep", slept.append)
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(SystemExit) as caught:
        launch(str(folder.recipe("stepz: 1")), [])
    assert caught.value.code == 2
    assert slept == [10]
    # nobody stopped this rank meanwhile, so the error is its own
    assert capsys.readouterr().err.endswith("(rank 1)\n")
