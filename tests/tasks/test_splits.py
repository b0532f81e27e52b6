import hashlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import InputError
from tasks.splits import refuse, split_of


def test_shares_of_sixty_fifteen_and_twenty_five() -> None:
    found = Counter(split_of("strategyqa", str(i)) for i in range(20_000))
    assert {split: round(count / 200) for split, count in found.items()} == {
        "train": 60,
        "dev": 15,
        "test": 25,
    }


def test_the_hash_by_hand() -> None:
    """Recordings and exports of different times share the splits: this number must never change."""
    digest = hashlib.sha256(b"musique\x1f2hop__7_8").hexdigest()
    assert int(digest, 16) % 100 == 76
    assert split_of("musique", "2hop__7_8") == "test"


@given(st.text(), st.text())
def test_every_name_has_one_split(suite: str, template: str) -> None:
    assert split_of(suite, template) == split_of(suite, template) in ("train", "dev", "test")


@pytest.mark.parametrize("suite", ["frames", "tau2", "tau2_retail", "composed", "composed-musique"])
def test_suites_for_evaluation_only_are_refused_by_name(suite: str) -> None:
    assert {split_of(suite, str(i)) for i in range(100)} == {"test"}
    for split in ("train", "dev"):
        with pytest.raises(InputError, match=f"{split} of {suite}: it is for evaluation only"):
            refuse(suite, split)
    refuse(suite, "test")
    refuse(suite, "all")


def test_others_are_not_refused() -> None:
    refuse("musique", "train")
    refuse("framework", "train")
