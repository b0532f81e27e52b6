import math
from pathlib import Path

import pytest
import yaml

from tasks.errors import InputError
from tests.train.conftest import Folder
from train.recipe import load


def refusal(file: Path, *arguments: str) -> str:
    with pytest.raises(InputError) as caught:
        load(file, arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_recipe_is_yaml_and_python_at_once(folder: Folder) -> None:
    file = folder.recipe("steps: 3")
    compile(file.read_text(), str(file), "exec")
    assert yaml.safe_load(file.read_text())["steps"] == 3
    recipe = load(file)
    assert (recipe.job, recipe.config.steps) == (folder.job, 3)


def test_a_recipe_without_launch_line_loads_too(folder: Folder) -> None:
    file = folder.write("plain.yaml", f"job: {folder.job}\noutput_dir: out\n")
    assert load(file).config.steps == 1


def test_overrides_change_the_config(folder: Folder) -> None:
    config = load(folder.recipe("inner: {rate: 1e-6}"), ["steps=7", "names=[a, b]"]).config
    assert config.inner.rate == 1e-6
    assert (config.steps, config.names) == (7, ("a", "b"))
    assert math.isclose(load(folder.recipe(), ["inner.rate=1.0e-6"]).config.inner.rate, 1e-6)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("stepz: 1", "unknown key 'stepz'; did you mean 'steps'?"),
        ("inner: {rat: 1}", "unknown key 'rat' under 'inner'; did you mean 'rate'?"),
        ("steps: x", "key 'steps' is 'x' (str); expected int"),
        ("steps: 1.5", "key 'steps' is 1.5 (float); expected int"),
        ("inner: {rate: fast}", "key 'inner.rate' is 'fast' (str); expected float"),
        ("names: a", "key 'names' is 'a' (str); expected a list of str"),
        ("steps: 1\nsteps: 2", "'steps' appears twice"),
        ("data: nope.jsonl", "key 'data': no file or folder"),
        ("model: ./nope", "key 'model': no file or folder"),
        ("model: a/b/c", "key 'model' is 'a/b/c': neither a folder nor owner/name"),
        ("model: .", "not a model"),
        ("task: {use: when2cal}", "use is 'when2cal', not a task"),
        ("task: {}", "use is None, not a task"),
        ("task: {use: mini, test_row: 3}", "unknown key 'test_row'; did you mean 'test_rows'?"),
        ("task: {use: when2call, train: nope.jsonl}", "key 'task.train': no file or folder"),
        ("rewards: [{use: formt}]", "unknown reward 'formt'; did you mean 'format'?"),
        ("rewards: [{use: certainty, belif: grounded}]", "unknown key 'belif'; did you mean 'belief'?"),
        ("rewards: [{use: certainty}, {use: action_class}]", "name only one"),
    ],
)
def test_bad_input_is_one_error_that_names_it(folder: Folder, body: str, fault: str) -> None:
    said = refusal(folder.recipe(body))
    assert said.startswith("recipe.yaml")
    assert fault in said


def test_the_job_must_be_one(folder: Folder) -> None:
    assert "unknown job 'eval.when2cal'; did you mean 'eval.when2call'?" in refusal(
        folder.recipe(head="job: eval.when2cal\n")
    )
    assert "expected a module such as train.grpo" in refusal(folder.recipe(head="steps: 1\n"))
    assert "expected a module such as train.grpo" in refusal(folder.recipe(head="job: [a]\n"))
    assert "is not a job: it has no Config" in refusal(folder.recipe(head="job: json\n"))


def test_a_module_that_a_job_cannot_import_is_not_taken_for_a_missing_job(folder: Folder) -> None:
    folder.write(f"{folder.job}_b.py", "import no_such_module_at_all\n")
    said = refusal(folder.recipe(head=f"job: {folder.job}_b\n"))
    assert f"job {folder.job}_b cannot be imported: ModuleNotFoundError: No module named" in said
    assert "no_such_module_at_all" in said


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("x = 1\ny = [][x]\n", "IndexError: list index out of range"),
        ("x = 1\nraise InputError('?')\n", "NameError: name 'InputError'"),
        ("x = 1\ndef (\n", "SyntaxError: invalid syntax"),
    ],
)
def test_a_job_that_fails_as_it_is_imported_is_named_with_its_place(
    folder: Folder, body: str, said: str
) -> None:
    folder.write(f"{folder.job}_c.py", body)
    found = refusal(folder.recipe(head=f"job: {folder.job}_c\n"))
    assert f"job {folder.job}_c cannot be imported: {said}" in found
    assert f"{folder.job}_c.py" in found


def test_files_that_are_no_recipes(folder: Folder) -> None:
    folder.recipe(name="here.yaml")
    assert "no such recipe; did you mean 'here.yaml'?" in refusal(folder.path / "heer.yaml")
    assert "cannot be read" in refusal(folder.path)
    assert "not a recipe" in refusal(folder.write("list.yaml", "- a\n- b\n"))
    assert "not a recipe" in refusal(folder.write("empty.yaml", ""))
    (folder.path / "latin.yaml").write_bytes(b"job: caf\xe9\n")
    assert "cannot be read" in refusal(folder.path / "latin.yaml")


def test_paths_resolve_against_the_recipe_and_output_dir_against_the_working_directory(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("deep/data.jsonl", "{}\n")
    folder.write("deep/model/config.json", "{}")
    file = folder.recipe("data: data.jsonl\nmodel: ./model\n", name="deep/recipe.yaml")
    elsewhere = folder.path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.syspath_prepend(str(folder.path))
    config = load("../deep/recipe.yaml").config
    assert config.data == file.parent / "data.jsonl"
    assert config.model == str(file.parent / "model")
    assert config.output_dir == elsewhere / "out"
    # what is typed on the command line is relative to where it is typed
    assert load(file, ["data=../deep/data.jsonl", "model=../deep/model"]).config.model == config.model
    assert "no file or folder" in refusal(file, "data=data.jsonl")


def test_task_files_resolve_and_defaults_are_spelled_out(folder: Folder) -> None:
    rows = folder.write("rows.jsonl", "{}\n")
    config = load(folder.recipe("task: {use: when2call, train: rows.jsonl}")).config
    assert config.task["train"] == str(rows)
    assert config.task["subset"] == "train_pref"
    config = load(folder.recipe("rewards: [{use: certainty, weight: 2}]")).config
    assert config.rewards[0]["weight"] == 2.0
    assert config.rewards[0]["epsilon"] == 1e-4


def test_a_hub_name_stays_a_hub_name(folder: Folder) -> None:
    assert load(folder.recipe("model: Qwen/Qwen2.5-3B-Instruct")).config.model == "Qwen/Qwen2.5-3B-Instruct"


def test_rewards_and_tasks_of_the_users_own_may_lie_beside_the_recipe(folder: Folder) -> None:
    own = f"own_{folder.job}"
    folder.write(
        f"{own}.py",
        """
        from tasks.when2call import Config, load
        def short(task, completion): return float(len(completion.answer) < 10)
        """,
    )
    config = load(folder.recipe(f"rewards: [{{use: {own}.short, weight: 0.5}}]\ntask: {{use: {own}}}")).config
    assert config.rewards[0] == {"use": f"{own}.short", "weight": 0.5, "warmup_steps": 0}


def test_the_resolved_recipe_loads_again_as_the_same(folder: Folder) -> None:
    first = load(folder.recipe("task: {use: mini}\nrewards: [{use: format}]"), ["inner.rate=1e-6"])
    again = folder.write("sub/resolved.yaml", yaml.safe_dump(first.resolved))
    assert load(again).config == first.config
