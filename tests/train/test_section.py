"""Sections of multi-hop tasks in a recipe: their paths, defaults and refusals."""

from pathlib import Path
from typing import Any

import pytest

from tasks.errors import InputError
from tasks.multi_hop_sources import load
from tests.tasks.suites.made_up import corpus, musique, strategyqa, write
from train.section import Source


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    write(tmp_path, strategyqa())
    corpus(tmp_path)
    return Source("r.yaml", tmp_path, frozenset())


def test_files_are_found_beside_the_recipe(source: Source, tmp_path: Path) -> None:
    section = {"use": "strategyqa", "split": "all", "file": "rows.jsonl", "paragraphs": "paragraphs.jsonl"}
    found = source.task(section)
    assert found["file"] == str(tmp_path / "rows.jsonl")
    assert found["paragraphs"] == str(tmp_path / "paragraphs.jsonl")
    assert (found["limit"], found["hub"]) == (None, None)
    assert source.task(found) == found  # as the run folder's copy of the recipe holds it
    assert len(load(found, 0).tasks) == 1


def test_a_folder_as_hub_is_found_and_a_name_stays(source: Source, tmp_path: Path) -> None:
    section = {"use": "musique", "split": "all", "hub_split": "validation"}
    assert source.task({**section, "hub": "owner/name"})["hub"] == "owner/name"
    assert source.task({**section, "hub": "./elsewhere"})["hub"] == str(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"use": "musiqe"}, "r.yaml: task: use is 'musiqe', not a task .* did you mean 'musique'"),
        ({"file": "none.jsonl"}, "key 'task.file': no file or folder"),
        ({"file": "elsewhere"}, "key 'task.file': .* is a folder; give a JSON-lines file"),
        ({"drop_list": "none.json"}, "key 'task.drop_list': no file or folder"),
        ({"aliases": "rows.jsonl"}, "r.yaml: task: key 'aliases' belongs to 2wiki"),
        ({"file": None, "hub": "./none", "hub_split": "x"}, "key 'task.hub': no file or folder"),
        ({"splt": "test"}, "unknown key 'splt'; did you mean 'split'"),
        ({"use": "frames", "split": "train"}, "train of frames: it is for evaluation only"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_read(
    change: dict[str, Any], fault: str, source: Source, tmp_path: Path
) -> None:
    write(tmp_path, musique())
    with pytest.raises(InputError, match=fault):
        source.task({"use": "musique", "split": "test", "file": "rows.jsonl", **change})
