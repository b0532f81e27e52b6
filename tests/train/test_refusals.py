"""Bad input of a training, through the command line: one line, exit code 2, before anything heavy."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.train.conftest import LAUNCH
from train.cli import main
from train.recipe import load
from train.run_dir import RunDir

ROW = {
    "question": "Book a table in Leeds.",
    "correct_answer": "cannot_answer",
    "answers": {"cannot_answer": "I cannot do that."},
    "tools": [],
}
RECIPE = """\
job: train.grpo
model: mini
task: {use: mini, train_rows: 16}
rewards: [{use: format}, {use: tool_match}, {use: action_class}]
trainer: {max_steps: 2}
output_dir: run
"""


@pytest.fixture(autouse=True)
def nothing_heavy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A trainer that is built at all is a failure; the working directory is the test's own."""

    def build(*_: Any) -> None:
        raise AssertionError("the trainer was built")

    monkeypatch.setattr("train.grpo.build", build)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    file = tmp_path / "recipe.yaml"
    file.write_text(LAUNCH + RECIPE + '# """\n')
    return file


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line that a command is refused with."""
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("askrl: ")
    assert said.count("\n") == 1
    return said


def model(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    return folder


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({}, "no config.json in"),
        ({"adapter_config__json": "{}"}, "is an adapter; merge it into its base model"),
        ({"config__json": "{}"}, "holds no weights"),
        ({"config__json": "{}", "model__safetensors": "x"}, "is broken (cut off after 1 bytes); copy"),
        (
            {
                "config__json": "{}",
                "pytorch_model__bin__index__json": '{"weight_map": {"a": "pytorch_model-1.bin"}}',
                "pytorch_model-2__bin": "x",
            },
            "pytorch_model-1.bin is broken (missing); copy",
        ),
        ({"config__json": "{}", "pytorch_model__bin": "x"}, "no tokenizer can be loaded"),
    ],
)
def test_a_folder_that_is_no_model(
    files: dict[str, str], fault: str, recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = model(tmp_path / "model", **files)
    said = refusal(capsys, "run", recipe, f"model={folder}")
    assert fault in said
    assert str(folder) in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_folder_without_a_config_and_one_that_is_not_there(
    command: str, recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = model(tmp_path / "model")
    assert f"no config.json in {folder}" in refusal(capsys, command, recipe, f"model={folder}")
    assert "no file or folder" in refusal(capsys, command, recipe, "model=./nowhere")


def test_a_name_that_no_hub_has(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "model nobody/nothing: no tokenizer" in refusal(capsys, "run", recipe, "model=nobody/nothing")


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_batch_that_does_not_divide(
    command: str, recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refusal(capsys, command, recipe, "trainer.num_generations=3")
    assert "nearest valid: per_device_train_batch_size 6 or 9" in said
    assert not (tmp_path / "run").exists()


def test_a_batch_that_divides_on_one_rank_alone(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = ("trainer.per_device_train_batch_size=8", "trainer.num_generations=8")
    assert main(["check", str(recipe), *batch]) == 0
    capsys.readouterr()
    single = ("trainer.per_device_train_batch_size=3", "trainer.num_generations=4")
    assert "3 x 2 ranks" in refusal(capsys, "check", recipe, *single, "--num-processes", 2)


def test_the_folder_of_another_recipe(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tasks import sources

    first = load(recipe)
    hashes = sources.load(first.config.task, "train", 0).hashes
    RunDir.open(tmp_path / "run", first.resolved, hashes, rank=0)
    (tmp_path / "run" / "metrics.jsonl").write_text('{"step": 1}\n')
    before = {file: file.read_bytes() for file in (tmp_path / "run").iterdir()}
    said = refusal(capsys, "run", recipe, "rewards.0.weight=0.5")
    assert "holds a run of another recipe: rewards.0.weight was 1.0 and is now 0.5" in said
    assert {file: file.read_bytes() for file in (tmp_path / "run").iterdir()} == before


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([], "no rows"),
        (["{"], "row 1"),
        ([json.dumps(ROW), "{}"], "row 2: the row is empty"),
        ([json.dumps(ROW | {"question": " "})], "row 1: no user turn"),
        (
            [json.dumps({"messages": [{"role": "assistant", "content": "Hello."}], "tools": []})],
            "row 1: no user turn",
        ),
        ([json.dumps(ROW | {"tools": ['{"name": 3}']})], "row 1, tool 1"),
    ],
    ids=["no rows", "broken", "an empty row", "no question", "no user turn", "no schema"],
)
def test_bad_rows(
    rows: list[str], fault: str, recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f"{row}\n" for row in rows))
    said = refusal(capsys, "run", recipe, f"task={{use: when2call, train: {file}}}")
    assert str(file) in said
    assert fault in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", ["run", "check"])
@pytest.mark.parametrize("key", ["output_dir", "model", "task.train"])
@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("~nouser_of_this_name/x", "there is no such user"),
        (r"./a\0b", "holds what no path can"),
        (r"./a\ud800", "holds what no path can"),
        ("", "the path is empty"),
    ],
)
def test_what_is_no_path(
    command: str, key: str, path: str, fault: str, recipe: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = "task={use: when2call}"
    said = refusal(capsys, command, recipe, task, f'{key}="{path}"')
    assert f"recipe.yaml: key '{key}': " in said
    assert fault in said


def test_a_folder_of_rows(recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, "check", recipe, f"task={{use: when2call, train: {tmp_path}}}")
    assert f"key 'task.train': {tmp_path} is a folder; give a JSON-lines file" in said
