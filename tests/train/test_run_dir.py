"""A run directory says what ran, resumes its own recipe, and refuses everything else by name."""

import copy
import getpass
import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tasks.errors import InputError
from tests.train.checkpoint_files import checkpoint
from train import folder_lock, run_dir, versions
from train.run_dir import RunDir
from train.same_recipe import differences, plain

RECIPE: dict[str, Any] = {
    "job": "train.grpo",
    "model": "mini",
    "task": {"use": "mini", "label_noise": {"ask_as_call": 0.6, "call_as_ask": 0.3}},
    "rewards": [{"use": "format", "weight": 1.0}, {"use": "certainty", "belief": "grounded"}],
    "trainer": {"max_steps": 20, "learning_rate": 1e-6, "logging_steps": 1},
    "seed": 0,
    "output_dir": "runs/a",
}
HASHES = {"train": "a" * 64}


def changed(key: str, value: Any) -> dict[str, Any]:
    """RECIPE with one dotted key set."""
    recipe = copy.deepcopy(RECIPE)
    *path, last = key.split(".")
    place: Any = recipe
    for name in path:
        place = place[int(name) if isinstance(place, list) else name]
    place[last] = value
    return recipe


def begun(folder: Path, recipe: dict[str, Any] = RECIPE) -> RunDir:
    """A run that has logged its first step."""
    opened = RunDir.open(folder, recipe, HASHES, rank=0)
    opened.write_text("metrics.jsonl", '{"step": 1}\n')
    return opened


def test_a_new_run_writes_recipe_versions_and_data(tmp_path: Path) -> None:
    opened = RunDir.open(tmp_path / "deep" / "run", RECIPE, HASHES, rank=0)
    assert (opened.writer, opened.checkpoint, opened.step) == (True, None, 0)
    assert yaml.safe_load((opened.path / "recipe.yaml").read_text()) == RECIPE
    assert json.loads((opened.path / "data.json").read_text()) == HASHES
    manifest = json.loads((opened.path / "versions.json").read_text())
    assert manifest["python"].startswith("3.")
    assert {"torch", "transformers", "trl"} <= manifest["packages"].keys()
    assert manifest["processes"] == 1
    assert {entry.name for entry in opened.path.iterdir()} == {"data.json", "recipe.yaml", "versions.json"}


def test_the_manifest_names_no_user_host_or_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_thisisasecret")
    text = json.dumps(versions.versions(1))
    assert "hf_thisisasecret" not in text
    assert str(Path.home()) not in text
    assert str(versions.ROOT) not in text
    assert f'"{getpass.getuser()}"' not in text


def test_paths_and_tuples_are_written_as_yaml_knows_them_and_secrets_not_at_all(tmp_path: Path) -> None:
    recipe = changed("trainer.hub_token", "hf_thisisasecret")
    recipe["task"]["files"] = (Path("a.jsonl"),)
    RunDir.open(tmp_path / "run", recipe, HASHES, rank=0)
    text = (tmp_path / "run" / "recipe.yaml").read_text()
    assert "hf_thisisasecret" not in text
    assert yaml.safe_load(text)["task"]["files"] == ["a.jsonl"]
    recipe["trainer"]["hub_token"] = None
    RunDir.open(tmp_path / "run", recipe, HASHES, rank=0)  # a secret is no part of the recipe


def test_only_rank_0_checks_and_writes(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("mine")
    opened = RunDir.open(tmp_path / "run", RECIPE, HASHES, rank=1)
    opened.write_text("a.txt", "a")
    opened.write_json("b.json", {})
    assert [entry.name for entry in opened.path.iterdir()] == ["thesis.tex"]
    assert not opened.writer


def test_the_rank_is_the_launchers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert not RunDir.open(tmp_path / "run", RECIPE, HASHES).writer
    monkeypatch.delenv("RANK")
    assert RunDir.open(tmp_path / "run", RECIPE, HASHES).writer


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("trainer.max_steps", 40),
        ("trainer.logging_steps", 5),
        ("trainer.report_to", ["wandb"]),
        ("trainer.run_name", "again"),
        ("trainer.log_completions", True),
        ("trainer.save_total_limit", 2),
        ("output_dir", "runs/moved"),
        ("trainer.learning_rate", "1e-6"),
        ("seed", 0.0),
        ("generator", None),
    ],
)
def test_the_same_recipe_resumes_from_the_last_checkpoint(tmp_path: Path, key: str, value: Any) -> None:
    RunDir.open(tmp_path / "run", RECIPE, HASHES, rank=0)
    checkpoint(tmp_path / "run", 9)
    newest = checkpoint(tmp_path / "run", 10)
    for rank in (0, 1):
        opened = RunDir.open(tmp_path / "run", changed(key, value), HASHES, rank=rank)
        assert (opened.checkpoint, opened.step) == (newest, 10)
    assert yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text()) == changed(key, value)


def test_a_finished_run_is_left_as_it_is_until_it_is_made_longer(tmp_path: Path) -> None:
    RunDir.open(tmp_path, RECIPE, HASHES, rank=0).finish(20)
    checkpoint(tmp_path, 20)
    files = [entry for entry in tmp_path.iterdir() if entry.is_file()]
    before = {entry: (entry.stat().st_mtime_ns, entry.read_bytes()) for entry in files}
    for rank, recipe in ((0, RECIPE), (1, RECIPE), (0, changed("trainer.logging_steps", 5))):
        assert RunDir.open(tmp_path, recipe, HASHES, rank=rank).finished
    for recipe in (changed("trainer.max_steps", 10), changed("seed", 1)):
        with pytest.raises(InputError, match="another recipe"):
            RunDir.open(tmp_path, recipe, HASHES, rank=0)
    with pytest.raises(InputError, match="other data"):
        RunDir.open(tmp_path, RECIPE, {"train": "b" * 64}, rank=0)
    assert {entry: (entry.stat().st_mtime_ns, entry.read_bytes()) for entry in files} == before
    assert not RunDir.open(tmp_path, changed("trainer.max_steps", 40), HASHES, rank=0).finished
    assert yaml.safe_load((tmp_path / "recipe.yaml").read_text())["trainer"]["max_steps"] == 40


def test_a_finished_run_without_a_checkpoint_is_not_made_longer_from_step_0(tmp_path: Path) -> None:
    begun(tmp_path).finish(20)
    with pytest.raises(InputError, match=r"finished at step 20 and left no complete checkpoint.*another out"):
        RunDir.open(tmp_path, changed("trainer.max_steps", 40), HASHES, rank=0)
    assert (tmp_path / "metrics.jsonl").is_file()
    RunDir.open(tmp_path / "0", changed("trainer.max_steps", 0), HASHES, rank=0).finish(0)  # nothing to lose
    assert RunDir.open(tmp_path / "0", changed("trainer.max_steps", 0), HASHES, rank=0).finished


@pytest.mark.parametrize("hashes", [HASHES, {"train": "b" * 64}])
def test_a_run_that_failed_before_its_first_step_gives_way(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, hashes: dict[str, str]
) -> None:
    RunDir.open(tmp_path, changed("trainer.learning_rate", -1.0), HASHES, rank=0)
    with caplog.at_level(logging.WARNING, run_dir.__name__):
        assert RunDir.open(tmp_path, RECIPE, hashes, rank=0).step == 0
    assert "failed before it logged a step; this recipe takes the folder over" in caplog.text
    assert yaml.safe_load((tmp_path / "recipe.yaml").read_text()) == RECIPE
    assert json.loads((tmp_path / "data.json").read_text()) == hashes


@pytest.mark.parametrize(
    "trace", ["metrics.jsonl", "finished.json", "adapter_model.safetensors", "checkpoint-2"]
)
def test_a_run_that_left_anything_does_not(tmp_path: Path, trace: str) -> None:
    RunDir.open(tmp_path, RECIPE, HASHES, rank=0)
    (tmp_path / trace).mkdir()
    with pytest.raises(InputError, match="another recipe"):
        RunDir.open(tmp_path, changed("seed", 1), HASHES, rank=0)


def test_nor_does_one_that_is_starting_in_another_process(tmp_path: Path) -> None:
    RunDir.open(tmp_path, RECIPE, HASHES, rank=0)
    folder_lock.release(tmp_path)
    code = (
        "import sys; from pathlib import Path; from train import folder_lock\n"
        "print(folder_lock.hold(Path(sys.argv[1])), flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        with pytest.raises(InputError, match=r"in use: another process is starting .*; wait for it"):
            RunDir.open(tmp_path, changed("seed", 1), HASHES, rank=0)
        other.communicate("")
    assert RunDir.open(tmp_path, changed("seed", 1), HASHES, rank=0).step == 0


def test_a_run_of_epochs_finishes_too(tmp_path: Path) -> None:
    epochs = changed("trainer", {"num_train_epochs": 1})
    assert not RunDir.open(tmp_path, epochs, HASHES, rank=0).finished
    RunDir.open(tmp_path, epochs, HASHES, rank=1).finish(7)
    assert not RunDir.open(tmp_path, epochs, HASHES, rank=0).finished
    RunDir.open(tmp_path, epochs, HASHES, rank=0).finish(7)
    assert RunDir.open(tmp_path, epochs, HASHES, rank=0).finished


@pytest.mark.parametrize("note", ["", "[]", '{"step": "x"}'])
def test_a_broken_note_is_none(tmp_path: Path, note: str) -> None:
    opened = RunDir.open(tmp_path, RECIPE, HASHES, rank=0)
    opened.write_text("finished.json", note)
    assert not RunDir.open(tmp_path, RECIPE, HASHES, rank=0).finished


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("trainer.max_steps", 10, "trainer.max_steps was 20 and is now 10; a run can be made longer"),
        ("trainer.max_steps", -1, "trainer.max_steps was 20 and is now -1"),
        ("trainer.learning_rate", 2e-6, "trainer.learning_rate was 1e-06 and is now 2e-06"),
        ("trainer.beta", 0.04, "trainer.beta was not set and is now 0.04"),
        ("rewards.1.belief", "emitted", "rewards.1.belief was 'grounded' and is now 'emitted'"),
        ("task.label_noise.ask_as_call", 0.0, "task.label_noise.ask_as_call was 0.6 and is now 0.0"),
        ("seed", False, "seed was 0 and is now False"),
        ("model", "x" * 200, "model was 'mini' and is now 'xxx"),
    ],
)
def test_another_recipe_is_refused_by_key_with_the_mend(
    tmp_path: Path, key: str, value: Any, said: str
) -> None:
    begun(tmp_path / "run")
    before = (tmp_path / "run" / "recipe.yaml").read_text()
    with pytest.raises(InputError) as caught:
        RunDir.open(tmp_path / "run", changed(key, value), HASHES, rank=0)
    assert said in str(caught.value)
    assert f"set {key} back to resume, or give another output_dir" in str(caught.value)
    assert len(str(caught.value)) < 600
    assert (tmp_path / "run" / "recipe.yaml").read_text() == before


def test_many_differences_are_counted(tmp_path: Path) -> None:
    begun(tmp_path / "run")
    with pytest.raises(InputError, match="more keys differ; set them back"):
        RunDir.open(tmp_path / "run", {"job": "train.imitate"}, HASHES, rank=0)


def test_other_data_are_refused(tmp_path: Path) -> None:
    begun(tmp_path / "run")
    with pytest.raises(InputError, match=r"the hash of train was 'aaa.*restore the data"):
        RunDir.open(tmp_path / "run", RECIPE, {"train": "b" * 64}, rank=0)
    with pytest.raises(InputError, match=r"the hash of train was .* is now not set"):
        RunDir.open(tmp_path / "run", RECIPE, {}, rank=0)


def test_a_foreign_folder_and_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"holds files but no recipe.yaml"):
        RunDir.open(tmp_path, RECIPE, HASHES, rank=0)
    with pytest.raises(InputError, match="is a file"):
        RunDir.open(tmp_path / "thesis.tex", RECIPE, HASHES, rank=0)
    with pytest.raises(InputError, match="cannot be used"):
        RunDir.open(tmp_path / "thesis.tex" / "run", RECIPE, HASHES, rank=0)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("content", [b"", b"- 1\n", b"a: [", b"\xff\xfe"])
def test_a_broken_recipe_in_the_folder_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "recipe.yaml").write_bytes(content)
    with pytest.raises(InputError, match=r"recipe.yaml is no recipe"):
        RunDir.open(tmp_path, RECIPE, HASHES, rank=0)


def test_a_start_that_was_killed_while_it_opened_is_repeated(tmp_path: Path) -> None:
    opened = RunDir.open(tmp_path / "run", RECIPE, HASHES, rank=0)
    (opened.path / "data.json").unlink()
    (opened.path / ".data.json.x1.tmp").write_text("{")
    assert RunDir.open(opened.path, RECIPE, HASHES, rank=0).step == 0
    (opened.path / "data.json").write_text("{")
    checkpoint(opened.path, 5)
    with pytest.raises(InputError, match=r"data.json is missing or broken"):
        RunDir.open(opened.path, RECIPE, HASHES, rank=0)


def test_a_folder_with_nothing_but_a_leftover_is_a_new_run(tmp_path: Path) -> None:
    (tmp_path / ".recipe.yaml.x1.tmp").write_text("{")
    assert RunDir.open(tmp_path, RECIPE, HASHES, rank=0).step == 0


def test_other_versions_and_ranks_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = RunDir.open(tmp_path / "run", RECIPE, HASHES, rank=0)
    manifest = json.loads((opened.path / "versions.json").read_text())
    manifest["packages"]["trl"] = "0.1"
    (opened.path / "versions.json").write_text(json.dumps(manifest))
    monkeypatch.setenv("WORLD_SIZE", "2")
    with caplog.at_level(logging.WARNING, run_dir.__name__):
        RunDir.open(tmp_path / "run", RECIPE, HASHES, rank=0)
    assert "processes 1 -> 2; trl 0.1 -> 1." in caplog.text


def test_a_broken_checkpoint_is_named_and_the_one_before_it_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    RunDir.open(tmp_path, RECIPE, HASHES, rank=0)
    good = checkpoint(tmp_path, 5)
    (checkpoint(tmp_path, 4) / "optimizer.pt").unlink()
    (checkpoint(tmp_path, 10) / "optimizer.pt").unlink()
    with caplog.at_level(logging.WARNING, run_dir.__name__):
        assert RunDir.open(tmp_path, RECIPE, HASHES, rank=1).checkpoint == good
        assert not caplog.records
        assert RunDir.open(tmp_path, RECIPE, HASHES, rank=0).checkpoint == good
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path}: not complete: checkpoint-10 (optimizer.pt: missing); the run goes on from step 5"
    ]


def test_differences_of_equal_recipes_are_none() -> None:
    assert differences(plain(RECIPE), yaml.safe_load(yaml.safe_dump(plain(RECIPE)))) == []
    assert differences({"a": []}, {"a": [1]}) == [("a", [], [1])]
    assert differences({"a": [{"b": 1}]}, {"a": [{"b": 1}, {"b": 2}]}) == [("a.1.b", None, 2)]


def test_revision_is_this_projects_or_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = versions.revision()
    assert found is None or len(found.removesuffix("+changes")) == 40
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    assert versions.revision() is None
