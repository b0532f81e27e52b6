import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import InputError
from tasks.multi_hop import Gold, Paragraph, pool_hash, uid_of
from tasks.need_graph import Need, NeedGraph

GRAPH = NeedGraph(
    (Need("s1", "who", ("Eve",), ("u1",)), Need("s2", "where", (), ("u2", "u3")), Need("s3", "so", (), ())),
    (("s1", "s2"), ("s2", "s3")),
)
GOLD = Gold("musique", "t", ("Rome", "Roma"), GRAPH, "template", "s2")


def test_a_uid_by_hand() -> None:
    """Records name paragraphs by it: it must never change."""
    assert uid_of("musique", "t", 3, "text") == "de2d15f8cb135576"


@given(st.tuples(st.text(), st.text(), st.integers(0, 99), st.text()))
def test_a_uid_is_sixteen_digits_of_all_four(parts: tuple[str, str, int, str]) -> None:
    uid = uid_of(*parts)
    assert len(uid) == 16 == len(f"{int(uid, 16):016x}")
    corpus, task, index, text = parts
    others = {uid_of(corpus, task, index + 1, text), uid_of(corpus, task, index, f"{text}x")}
    assert uid not in others | {
        uid_of(corpus, f"{task}x", index, text),
        uid_of(f"{corpus}x", task, index, text),
    }


def test_a_uid_of_half_a_character() -> None:
    assert len(uid_of("a", "b", 0, "\ud800")) == 16


def test_a_pools_hash_is_of_the_set() -> None:
    pool = [Paragraph("b", "", ""), Paragraph("a", "", "")]
    assert pool_hash(pool) == pool_hash(pool[::-1]) != pool_hash(pool[:1])
    assert len(pool_hash([])) == 16


def test_gold_as_a_row_and_back() -> None:
    row = json.loads(json.dumps(GOLD.to_row()))
    assert Gold.from_row(row, "graphs.jsonl, row 1") == GOLD
    none = replace(GOLD, graph=NeedGraph((), ()), answer_need=None)
    assert Gold.from_row(json.loads(json.dumps(none.to_row())), "x") == none


@pytest.mark.parametrize(
    "change",
    [
        {"needs": None},
        {"needs": [{"id": "s1"}]},
        {"edges": [["s1"]]},
        {"edges": [["s1", "s9"]]},
        {"edges": [["s1", "s2"], ["s2", "s1"]]},
        {"answers": 3},
    ],
)
def test_another_row_is_named(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"^g.jsonl, row 2: not a graph of a recorded task"):
        Gold.from_row({**GOLD.to_row(), **change}, "g.jsonl, row 2")
    for name in GOLD.to_row():
        with pytest.raises(InputError):
            Gold.from_row({key: value for key, value in GOLD.to_row().items() if key != name}, "x")
