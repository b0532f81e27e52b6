"""The miniature of multi-hop questions: worlds as they are said to be, gates that hold."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollout.retrieve import Retriever, words
from tasks import mini_hops
from tasks.errors import InputError
from tasks.mini_hops import GLUE, NAMES, POOL, RELATIONS, TOP_K, World, chains_of, facts_of, task_of
from tasks.multi_hop import MultiHopTask
from tasks.splits import split_of

WORLDS: tuple[World, ...] = ("single", "threads", "gated")


def index(task: MultiHopTask) -> Retriever:
    return Retriever({one.uid: f"{one.title} {one.text}" for one in task.pool})


def lines(task: MultiHopTask) -> int:
    """Connected components of the need graph."""
    return len(task.gold.graph.needs) - len(task.gold.graph.edges)


def test_same_seed_same_tasks_and_hash() -> None:
    config = mini_hops.Config("train", 30)
    assert mini_hops.load(config, 3) == mini_hops.load(config, 3)
    assert mini_hops.load(config, 3).hashes != mini_hops.load(config, 4).hashes


def test_the_splits_are_those_of_every_suite() -> None:
    found = {
        split: mini_hops.load(mini_hops.Config(split, 90), 0).tasks for split in ("train", "dev", "test")
    }
    for split, tasks in found.items():
        assert {split_of("mini_hops", task.gold.cluster) for task in tasks} == {split}
    assert len({task.question.id for tasks in found.values() for task in tasks}) == 270


def test_worlds_come_in_turn() -> None:
    tasks = mini_hops.load(mini_hops.Config("test", 31), 0).tasks
    kinds = Counter(task.question.id.partition("-")[0] for task in tasks)
    assert kinds == {"single": 11, "threads": 10, "gated": 10}


@pytest.mark.parametrize("world", WORLDS)
def test_the_graph_is_the_question(world: World) -> None:
    for number in range(60):
        task = task_of(world, f"{world}-0-{number}")
        chains, graph = chains_of(task.question.text), task.gold.graph
        assert len(task.pool) == len({one.uid for one in task.pool}) == POOL
        assert lines(task) == len(chains)
        assert sum(len(chain.relations) for chain in chains) == len(graph.needs)
        text = {one.uid: one.text for one in task.pool}
        answers = {need.id: facts_of(text[str(need.evidence[0])])[0].value for need in graph.needs}
        assert all(need.answers == (answers[need.id],) for need in graph.needs)
        ends = [need for need in graph.needs if need.id not in {u for u, _ in graph.edges}]
        assert task.gold.answers[0] == " and ".join(answers[need.id] for need in ends)
        assert (task.gold.answer_need is None) == (len(chains) > 1)


def test_single_chains_are_one_line_and_threads_several() -> None:
    assert {lines(task_of("single", f"single-0-{i}")) for i in range(50)} == {1}
    assert {lines(task_of("threads", f"threads-0-{i}")) for i in range(80)} == {2, 3}


@pytest.mark.parametrize("world", WORLDS)
def test_the_question_for_a_need_fetches_it_first(world: World) -> None:
    for number in range(60):
        task = task_of(world, f"{world}-1-{number}")
        found = index(task)
        answers = {need.id: need.answers[0] for need in task.gold.graph.needs}
        for need in task.gold.graph.needs:
            asked = need.text
            for name, answer in answers.items():
                asked = asked.replace(f"#{name[1:]} ", f"{answer} ")
            assert found.retrieve(asked, TOP_K)[0] == need.evidence[0]


def gates(task: MultiHopTask) -> list[tuple[str, str]]:
    """(paragraph, the name that its queries have to hold) of each link that has one before it."""
    answers = {need.id: need.answers[0] for need in task.gold.graph.needs}
    parents = task.gold.graph.parents
    return [
        (str(need.evidence[0]), answers[parents[need.id][0]])
        for need in task.gold.graph.needs
        if parents[need.id]
    ]


def test_two_paragraphs_shadow_each_gate_word_by_word() -> None:
    """The reason why no query passes: whatever word is asked for, two shorter paragraphs hold it as often."""
    for number in range(200):
        task = task_of("gated", f"gated-0-{number}")
        bags = {one.uid: Counter(words(f"{one.title} {one.text}")) for one in task.pool}
        assert gates(task)
        for uid, name in gates(task):
            rest = Counter({word: n for word, n in bags[uid].items() if word != name})
            shadows = [
                other
                for other, bag in bags.items()
                if other != uid and bag >= rest and bag.total() < bags[uid].total() and name not in bag
            ]
            assert len(shadows) == TOP_K


@given(
    st.integers(0, 300),
    st.lists(st.sampled_from([*RELATIONS, *NAMES[:40], *GLUE, "xylem"]), max_size=12),
    st.randoms(use_true_random=False),
)
def test_no_query_passes_a_gate_without_its_name(number: int, asked: list[str], rng: object) -> None:
    task = task_of("gated", f"gated-2-{number}")
    found = index(task)
    known = sorted({word for one in task.pool for word in words(one.text)})
    query = [*asked, *(word for word in known if rng.random() < 0.3)]  # type: ignore[attr-defined]
    for uid, name in gates(task):
        without = " ".join(word for word in query if word != name)
        assert uid not in found.retrieve(without, TOP_K)


def test_worlds_without_gates_can_be_guessed() -> None:
    """The gate is what makes the difference: elsewhere the relation alone often fetches a later link."""
    shares = {}
    for world in ("single", "gated"):
        hits = []
        for number in range(100):
            task = task_of(world, f"{world}-3-{number}")
            found = index(task)
            text = {one.uid: one.text for one in task.pool}
            for uid, _ in gates(task):
                relation = facts_of(text[uid])[0].relation
                hits.append(uid in found.retrieve(f"who is the {relation} ?", TOP_K))
        shares[world] = sum(hits) / len(hits)
    assert shares["gated"] == 0.0
    assert shares["single"] > 0.5


def test_the_vocabulary_is_closed_and_small() -> None:
    vocabulary = {*RELATIONS, *NAMES, *GLUE}
    assert len(vocabulary) == len(RELATIONS) + len(NAMES) + len(GLUE) < 1200
    for world in WORLDS:
        task = task_of(world, f"{world}-5-5")
        said = " ".join([task.question.text, *(one.text for one in task.pool)])
        assert set(said.split()) <= vocabulary


@pytest.mark.parametrize(
    ("wrong", "told"),
    [({"tasks": 0}, "task.tasks"), ({"worlds": ()}, "task.worlds"), ({"worlds": ("single",) * 2}, "once")],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        mini_hops.Config("train", **wrong)  # type: ignore[arg-type]
