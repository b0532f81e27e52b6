from pathlib import Path

import pytest

from rollout.ledger import Ledger, key


def test_what_was_added_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "ledger.jsonl"
    first = Ledger(path)
    assert first.get("a") is None
    first.add("a", {"text": "é\n\ud800"})
    assert first.get("a") == Ledger(path).get("a") == {"key": "a", "text": "é\n\ud800"}


@pytest.mark.parametrize("torn", ['{"key": "b", "te', "\n{", '{"key": "b"}'])
def test_a_torn_last_line_is_dropped(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "ledger.jsonl"
    Ledger(path).add("a", {"n": 1})
    with path.open("a") as file:
        file.write(torn.lstrip("\n"))
    again = Ledger(path)
    assert again.get("a") == {"key": "a", "n": 1}
    assert again.get("b") is None
    again.add("c", {"n": 3})
    assert Ledger(path).get("c") == {"key": "c", "n": 3}


def test_keys_depend_on_every_part_and_its_place() -> None:
    assert key("m", [1, 2], {"t": 0.5}) == key("m", (1, 2), {"t": 0.5})
    assert len({key("a", "b"), key("b", "a"), key("a", "b", None), key("ab")}) == 4
