from pathlib import Path

import pytest

from tasks.errors import InputError
from tasks.json_lines import read_rows


def test_rows_with_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes('\ufeff{"a": 1}\r\n{"b": "\u2028é"}\n\n  \n'.encode())
    assert list(read_rows(path)) == [(1, {"a": 1}), (2, {"b": "\u2028é"})]
    assert list(read_rows(str(path))) == list(read_rows(path))


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"", ["no rows"]),
        (b"\n \n", ["no rows"]),
        (b'{"a": 1}\n{"a": ', ["row 2", "not valid JSON"]),
        (b'{"a": 1}\n\n \n{"a": 2}\n', ["row 2", "the row is empty"]),
        (b'\n{"a": 2}\n', ["row 1", "the row is empty"]),
        (rb'{"a": "hi \ud800"}', ["row 1", "surrogate"]),
        (rb'{"a": [{"\udc01\ud801": 1}]}', ["row 1", "surrogate"]),
        (b'{"a": NaN}', ["row 1", "NaN"]),
        (b"[1]\n", ["row 1", "expected a JSON object, found a list"]),
        (b"null\n", ["row 1", "found null"]),
        (b'{"a": 1}\n{"a": "\xff"}', ["row 2", "not UTF-8"]),
        (b"[" * 100_000, ["row 1", "nested"]),
    ],
)
def test_bad_rows(tmp_path: Path, content: bytes, parts: list[str]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(read_rows(path))
    assert all(part in str(caught.value) for part in [str(path), *parts])


def test_whole_surrogate_pairs_are_characters(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(rb'{"a": "\ud83d\ude00"}')
    assert list(read_rows(path)) == [(1, {"a": "\U0001f600"})]


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: no such file"):
        list(read_rows(tmp_path / "none.jsonl"))
    with pytest.raises(InputError, match="cannot be read"):
        list(read_rows(tmp_path))


def test_rows_before_a_bad_one_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\nnope\n')
    rows = read_rows(path)
    assert next(rows) == (1, {"a": 1})
    with pytest.raises(InputError, match="row 2"):
        next(rows)
