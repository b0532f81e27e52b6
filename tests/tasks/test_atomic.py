"""Files are whole or absent."""

import os
from pathlib import Path

import pytest

from tasks.atomic import is_leftover, write_bytes, write_json, write_text


def test_writes_replace_and_make_folders(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.json"
    write_json(path, {"a": "é"})
    write_json(path, {"a": 1})
    assert path.read_text() == '{\n  "a": 1\n}\n'
    assert [entry.name for entry in path.parent.iterdir()] == ["a.json"]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="disk full"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_files_are_as_readable_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a")
    write_bytes(tmp_path / "ours", b"a")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_lone_surrogates_and_nan(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "\ud800")
    assert (tmp_path / "a").read_text() == "?"
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "b", {"a": float("nan")})
    assert not (tmp_path / "b").exists()


def test_leftovers_are_known_by_name() -> None:
    assert is_leftover(Path("x/.a.json.k2.tmp"))
    assert not is_leftover(Path("x/a.tmp"))
    assert not is_leftover(Path("x/.gitignore"))
