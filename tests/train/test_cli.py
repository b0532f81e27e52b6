import subprocess
import sys
import time
from pathlib import Path

import pytest

from tasks import sources
from tests.train.conftest import Folder
from train.cli import main
from train.recipe import load
from train.run_dir import RunDir
from train.self_test import ROWS


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from train.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'trl', 'transformers', 'vllm', 'numpy', 'yaml', 'rewards'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert time.perf_counter() - start < 5  # 0.1 s; a crowded machine may take its time
    for command in ("run", "check", "score", "bench"):
        assert f"\n    {command} " in done.stdout


def test_overrides_may_stand_before_and_after_flags(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = str(folder.recipe())
    assert main(["check", recipe, "steps=3", "--num-processes", "2", "inner.rate=1e-6"]) == 0
    out = capsys.readouterr().out
    assert "  steps: 3\n" in out
    assert "    rate: 1.0e-06\n" in out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["chek"],
        ["check"],
        ["check", "r.yaml", "--steps", "3"],
        ["check", "r.yaml", "--num-processes", "x"],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "askrl" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["run", "nope.yaml"], "no such recipe"),
        (["check", "nope.yaml"], "no such recipe"),
        (["bench", "nope"], "unknown benchmark 'nope'"),
    ],
)
def test_bad_input_exits_with_2_and_one_line(
    arguments: list[str], fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert fault in said.err


def test_run_runs_in_this_process(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.path)
    assert main(["run", str(folder.recipe()), "steps=3"]) == 0
    assert (folder.path / "out" / "rank0.json").is_file()


def test_a_finished_run_says_so_in_one_line_and_touches_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = Path(__file__).parents[2] / "recipes" / "mini" / "grpo_baseline.yaml"
    arguments = ["task.train_rows=16", "trainer.max_steps=3", f"output_dir={tmp_path}"]
    recipe = load(shipped, arguments)
    hashes = sources.load(recipe.config.task, "train", 0).hashes
    RunDir.open(tmp_path, recipe.resolved, hashes, rank=0).finish(3)
    before = {entry: entry.stat().st_mtime_ns for entry in tmp_path.iterdir()}
    assert main(["run", str(shipped), *arguments]) == 0
    assert capsys.readouterr().out == (
        f"{tmp_path}: this run has finished, nothing is left to do under its recipe\n"
    )
    assert {entry: entry.stat().st_mtime_ns for entry in tmp_path.iterdir()} == before


def test_a_missing_recipe_is_all_that_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run"])
    assert capsys.readouterr().err.endswith("the following arguments are required: recipe\n")


def test_a_reader_that_has_read_enough_ends_it_quietly(tmp_path: Path) -> None:
    shipped = Path(__file__).parents[2] / "recipes" / "mini" / "grpo_baseline.yaml"
    row = ROWS.read_text(encoding="utf-8").splitlines()[0]
    file = tmp_path / "lines.jsonl"
    file.write_text(f'{{"task": {row}, "completion": ""}}\n' * 2000)
    command = f"set -o pipefail; {sys.executable} -m train.cli score {shipped} {file} | head -2"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 2)
