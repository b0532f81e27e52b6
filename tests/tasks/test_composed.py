"""Two tasks as one: what makes a pair, and that nothing of their graphs is lost."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from rewards.consequence.decision import DONE
from tasks import splits
from tasks.composed import composed, unfit
from tasks.errors import InputError
from tasks.multi_hop import MultiHopTask
from tasks.multi_hop_sources import load, top_k, word_cap

MINI = {"use": "mini_hops", "split": "test", "tasks": 12}


def minis() -> tuple[MultiHopTask, ...]:
    return load(MINI, 0).tasks


def deep(tasks: tuple[MultiHopTask, ...]) -> MultiHopTask:
    return next(task for task in tasks if max(task.gold.graph.depths.values()) >= 2)


def test_the_graph_of_a_pair_is_both_graphs_side_by_side() -> None:
    a, b = minis()[:2]
    both = composed(a, b)
    graph = both.gold.graph
    assert [need.id for need in graph.needs] == [
        *(f"a.{need.id}" for need in a.gold.graph.needs), *(f"b.{need.id}" for need in b.gold.graph.needs)
    ]  # fmt: skip
    assert len(graph.lines) == len(a.gold.graph.lines) + len(b.gold.graph.lines)
    text = {one.uid: one.text for one in (*a.pool, *b.pool)}
    moved = {one.uid: one.text for one in both.pool}
    wanted = [text[str(uid)] for half in (a, b) for need in half.gold.graph.needs for uid in need.evidence]
    assert [moved[str(uid)] for need in graph.needs for uid in need.evidence] == wanted
    assert (graph.coverage(list(moved)) or 0.0) >= DONE
    assert both.gold.answers == ()
    assert a.question.text in both.question.text
    assert b.question.text in both.question.text


def test_both_orders_have_one_pool_and_one_cluster() -> None:
    a, b = minis()[:2]
    one, other = composed(a, b), composed(b, a)
    assert one.pool == other.pool
    assert one.gold.cluster == other.gold.cluster
    assert one.question.id != other.question.id
    assert [need.evidence for need in one.gold.graph.needs if need.id.startswith("a.")] == [
        need.evidence for need in other.gold.graph.needs if need.id.startswith("b.")
    ]


def test_equal_paragraphs_are_one() -> None:
    a, b = minis()[:2]
    shared = dataclasses.replace(b, pool=(*b.pool, dataclasses.replace(a.pool[0], uid="other")))
    assert len(composed(a, shared).pool) == len({one.text for one in (*a.pool, *b.pool)})


def test_what_is_no_pair() -> None:
    tasks = minis()
    a = deep(tasks)
    b = dataclasses.replace(a, gold=dataclasses.replace(a.gold, cluster="another"))
    assert unfit(a, a) == "one template"
    assert unfit(a, b) == "a title that both pools have"
    told = tuple(
        dataclasses.replace(one, title=f"T{place}", text=f"{one.text} {a.gold.answers[0]}")
        for place, one in enumerate(b.pool)
    )
    assert unfit(a, dataclasses.replace(b, pool=told)) == "an answer that occurs in the other task"
    flat = [task for task in tasks if max(task.gold.graph.depths.values()) < 2]
    assert unfit(flat[0], flat[1]) == "no need of depth 2"


@pytest.mark.parametrize(
    ("of", "told"),
    [
        ({**MINI, "split": "train"}, "made of test tasks; use split: test"),
        ({"use": "composed", "split": "test"}, "cannot be composed again"),
        ({**MINI, "task": 3}, "task.of: unknown key 'task'"),
    ],
)
def test_what_they_are_made_of(of: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        load({"use": "composed", "of": of}, 0)


def test_too_few_pairs_are_told_with_the_reasons() -> None:
    with pytest.raises(InputError, match=r"12 tasks give \d pairs, not 48: .*; take more tasks"):
        load({"use": "composed", "of": MINI}, 0)


def test_they_are_for_evaluation_only_and_played_like_their_suite() -> None:
    assert splits.evaluation_only("composed_musique")
    assert (top_k("composed_mini_hops"), word_cap("composed_mini_hops")) == (2, 8)
    assert word_cap("composed_musique") == word_cap("musique")


def test_real_musique_pairs(real_rows: Path) -> None:
    section = {"use": "musique", "file": str(real_rows.parent / "musique" / "ans_dev.jsonl"), "split": "test"}
    found = load({"use": "composed", "of": section, "pairs": 4}, 0)
    assert len(found.tasks) == 8
    assert all(len(task.gold.graph.lines) == 2 for task in found.tasks)
    assert all(max(task.gold.graph.depths.values()) >= 2 for task in found.tasks)
    assert [task.gold.cluster for task in found.tasks[::2]] == [
        task.gold.cluster for task in found.tasks[1::2]
    ]
