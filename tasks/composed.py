"""Two test tasks asked as one, to see whether threads that are independent get in each other's way.

task: {use: composed, of: {use: musique, file: musique_ans_dev.jsonl, split: test, limit: 200}}

A pair is asked in both orders over one pool. For evaluation only: it is made of test tasks, and its final
answers are not read (beyond arXiv 2609.37236's suites, whose graphs are all one thread).
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tasks.answer_match import holds
from tasks.errors import InputError
from tasks.multi_hop import Gold, MultiHopSet, MultiHopTask, Paragraph, Question, uid_of
from tasks.need_graph import NeedGraph
from tasks.suites.pool import with_evidence

SUITE = "composed"
DEEP = 2
"""One task of a pair has a need of this depth at least."""


@dataclass(frozen=True, slots=True)
class Config:
    """Keys of a recipe's `task:` section for `use: composed`."""

    of: Mapping[str, Any]
    """The section of the tasks that are paired; its split is test."""
    pairs: int = 48
    """So many pairs, twice as many tasks."""

    def __post_init__(self) -> None:
        from tasks import multi_hop_sources

        if self.of.get("split") != "test":
            raise InputError("task.of: composed tasks are made of test tasks; use split: test there")
        if self.of.get("use") == SUITE:
            raise InputError("task.of: composed tasks cannot be composed again; name a suite")
        multi_hop_sources.config_of(self.of, "task.of")
        if self.pairs < 1:
            raise InputError(f"task.pairs is {self.pairs}; use at least 1")


def load(config: Config, seed: int) -> MultiHopSet:
    """Disjoint pairs in both orders, the next of (A, B) and (B, A) side by side; `seed` shuffles the tasks.

    Raises InputError where there are fewer pairs than are wanted, with what kept tasks apart.
    """
    from tasks import multi_hop_sources

    single = multi_hop_sources.load(config.of, seed)
    refused: Counter[str] = Counter()
    found = list(_pairs(single.tasks, config.pairs, seed, refused))
    if len(found) < config.pairs:
        why = ", ".join(f"{reason} ({number})" for reason, number in refused.most_common()) or "too few tasks"
        raise InputError(
            f"task.pairs: {len(single.tasks)} tasks give {len(found)} pairs, not {config.pairs}: {why}; "
            "take more tasks (of.limit) or fewer pairs"
        )
    tasks = tuple(composed(*order) for a, b in found for order in ((a, b), (b, a)))
    return MultiHopSet(tasks, single.left_out, single.hashes)


def unfit(a: MultiHopTask, b: MultiHopTask) -> str | None:
    """Why two tasks make no pair; None where they do."""
    if a.gold.cluster == b.gold.cluster:
        return "one template"
    if max((*a.gold.graph.depths.values(), *b.gold.graph.depths.values()), default=0) < DEEP:
        return f"no need of depth {DEEP}"
    if not {one.title for one in a.pool}.isdisjoint(one.title for one in b.pool):
        return "a title that both pools have"
    if _answered_in(a, b) or _answered_in(b, a):
        return "an answer that occurs in the other task"
    return None


def composed(first: MultiHopTask, second: MultiHopTask) -> MultiHopTask:
    """Both as one task. Raises SkipRow where evidence is in neither pool: it would look like no coverage."""
    in_order = sorted((first, second), key=lambda task: task.question.id)
    pair = " + ".join(task.question.id for task in in_order)
    suite = f"{SUITE}_{first.question.suite}"
    by_text = {
        one.text: one
        for task in sorted((first, second), key=lambda task: task.question.id)
        for one in task.pool
    }
    pieces = [by_text[text] for text in sorted(by_text)]
    random.Random(f"{SUITE}/{pair}").shuffle(pieces)
    pool = tuple(
        Paragraph(uid_of(suite, pair, place, one.text), one.title, one.text)
        for place, one in enumerate(pieces)
    )
    moved = {one.text: one.uid for one in pool}
    halves = [
        _prefixed(with_evidence(task.gold.graph, {one.uid: moved[one.text] for one in task.pool}), name)
        for name, task in (("a", first), ("b", second))
    ]
    graph = NeedGraph(
        tuple(need for half in halves for need in half.needs),
        tuple(edge for half in halves for edge in half.edges),
    )
    name = f"{first.question.id} + {second.question.id}"
    text = f"Two questions. First: {first.question.text} Second: {second.question.text}"
    return MultiHopTask(Question(suite, name, text), pool, Gold(suite, name, (), graph, pair))


def _pairs(
    tasks: tuple[MultiHopTask, ...], most: int, seed: int, refused: Counter[str]
) -> Iterator[tuple[MultiHopTask, MultiHopTask]]:
    """Each task, in an order drawn from the seed, with the first one left that fits."""
    left = list(tasks)
    random.Random(f"{SUITE}/{seed}").shuffle(left)
    while left and most:
        a = left.pop(0)
        for place, b in enumerate(left):
            why = unfit(a, b)
            if why is None:
                most -= 1
                yield a, left.pop(place)
                break
            refused[why] += 1


def _answered_in(a: MultiHopTask, b: MultiHopTask) -> bool:
    """Whether an answer to `a` occurs in what can be read of `b`."""
    return any(holds(text, a.gold.answers) for text in (b.question.text, *(one.text for one in b.pool)))


def _prefixed(graph: NeedGraph, prefix: str) -> NeedGraph:
    needs = (replace(need, id=f"{prefix}.{need.id}") for need in graph.needs)
    return NeedGraph(tuple(needs), tuple((f"{prefix}.{u}", f"{prefix}.{v}") for u, v in graph.edges))
