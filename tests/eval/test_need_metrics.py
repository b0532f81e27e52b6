"""The worked transcripts of arXiv 2609.37236's metrics, cell by cell; properties against plain recounts."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.need_metrics import Course, StopCounts, stop_counts
from tasks.need_graph import Need, NeedGraph, Uid

GRAPH = NeedGraph(
    tuple(
        Need(name, "", (), evidence)
        for name, evidence in (("s1", ("a",)), ("s2", ("b",)), ("s3", ("c",)), ("s4", ("d1", "d2")))
    ),
    (("s1", "s2"), ("s2", "s3")),
)
A = Course(GRAPH, ("ax", ("c", "d1"), "ba", ("d2", "y"), "ab"))
B = Course(GRAPH, ("a", ("b", "d1"), ("d2", "z")))
C = Course(GRAPH, (("a", "d1"), ("d2", "x"), "yz"))
RUNS = pytest.mark.parametrize("run", [A, B, C], ids="ABC")


def curve(run: Course, metric: Callable[[int], object]) -> list[object]:
    return [metric(asks) for asks in range(run.asks + 1)]


def test_depths_and_lines() -> None:
    assert GRAPH.depths == {"s1": 0, "s2": 1, "s3": 2, "s4": 0}
    assert set(GRAPH.lines) == {frozenset(("s1", "s2", "s3")), frozenset(("s4",))}


def test_resolve_turns() -> None:
    found = [{n: t for n, t in run.resolve_turns.items() if t < run.asks} for run in (A, B, C)]
    assert found == [{"s1": 0, "s3": 1, "s2": 2, "s4": 3}, {"s1": 0, "s2": 1, "s4": 2}, {"s1": 0, "s4": 1}]


@pytest.mark.parametrize(
    ("run", "coverage", "recall", "deepest"),
    [
        (A, [0, 0.2, 0.6, 0.8, 1, 1], [0, 0.0833, 0.5833, 0.9167, 1, 1], [-1, 0, 2, 2, 2, 2]),
        (B, [0, 0.2, 0.6, 0.8], [0, 0.0833, 0.4167, 0.5], [-1, 0, 1, 1]),
        (C, [0, 0.4, 0.6, 0.6], [0, 0.0833, 0.1667, 0.1667], [-1, 0, 0, 0]),
    ],
    ids="ABC",
)
def test_what_grows(run: Course, coverage: list[float], recall: list[float], deepest: list[int]) -> None:
    assert curve(run, run.coverage) == pytest.approx(coverage)
    assert curve(run, run.depth_weighted_recall) == pytest.approx(recall, abs=5e-5)
    assert curve(run, run.deepest) == deepest


def test_frontiers() -> None:
    spelled = [[" ".join(sorted(frontier)) for frontier in run.frontiers] for run in (A, B, C)]
    assert spelled == [
        ["s1 s4", "s2 s4", "s2 s4", "s4", "", ""],
        ["s1 s4", "s2 s4", "s3 s4", "s3"],
        ["s1 s4", "s2 s4", "s2", "s2"],
    ]


def test_order() -> None:
    assert curve(A, A.out_of_order) == [None, None, None, 0.5, 0.5, 0.5]
    assert curve(B, B.out_of_order) == [None, None, 0.0, 0.0]
    assert curve(C, C.out_of_order) == [None] * 4
    assert [run.timely(run.asks) for run in (A, B, C)] == [(0, 2), (1, 1), (0, 0)]
    assert [run.latent(run.asks) for run in (A, B, C)] == [(1, 1), (1, 2), (0, 1)]


def test_a_repair_is_a_parent_soon_after_its_child() -> None:
    assert [run.repairs(run.asks) for run in (A, B, C)] == [(1, 1), (0, 0), (0, 0)]
    assert A.repairs(A.asks, within=0) == (0, 1)
    assert A.repairs(2) == (0, 1)  # not yet


def test_breadth() -> None:
    touched = [run.lines(run.asks) for run in (A, B, C)]
    advanced = [run.lines(run.asks, advanced=True) for run in (A, B, C)]
    assert touched == [1.0, 1.0, 1.0]
    assert advanced == [0.5, 0.5, 0.0]


def test_optional_needs_join_lines_only_when_asked_to() -> None:
    needs = (Need("s1", "", (), ("a",)), Need("s2", "", (), ("b",)), Need("s3", "", (), ()))
    graph = NeedGraph(needs, (("s1", "s3"), ("s2", "s3")))
    run = Course(graph, ("a",))
    assert (run.lines(1), run.lines(1, optional=True)) == (0.5, 1.0)


def test_redundancy() -> None:
    assert [[run.rho(turn) for turn in range(run.asks)] for run in (A, B, C)] == [
        [0, 0, 0.5, 0, 1], [0, 0, 0], [0, 0, 0],
    ]  # fmt: skip
    assert Course(GRAPH, ((),)).redundancy(1) == 1.0
    assert A.redundancy(0) is None


def test_stops() -> None:
    a, b, c = stop_counts(A, "policy_stop"), stop_counts(B, "policy_stop"), stop_counts(C, "budget")
    assert a == StopCounts(done_stop=1, done=2, not_done_ask=4, not_done=4, asks_after_done=1)
    assert b == StopCounts(not_done_ask=3, not_done=4)
    assert c == StopCounts(not_done_ask=3, not_done=3, halts=1)
    assert (a + b).ask_given_not_done == 7 / 8
    assert (a + b).stop_given_done == 1 / 2
    assert (a + b + c).ask_given_not_done == 10 / 11
    rates = [one.ask_given_not_done or 0.0 for one in (a, b, c)]
    assert sum(rates) / 3 == pytest.approx(11 / 12)  # what must not be reported
    assert c.stop_given_done is None


def test_what_is_no_move_is_a_stop_and_counted() -> None:
    assert stop_counts(A, "malformed") == StopCounts(1, 2, 4, 4, asks_after_done=1, malformed=1)


def test_a_ceiling_begins_with_evidence_in_hand() -> None:
    run = Course(GRAPH, (), ("a", "b", "c", "d1", "d2"))
    assert (run.coverage(0), run.deepest(0), run.depth_weighted_recall(0)) == (1.0, 2, 1.0)
    assert run.timely(0) == (0, 0)
    assert Course(GRAPH, ("a",), ("a",)).rho(0) == 1.0


def test_nothing_required_is_undefined() -> None:
    run = Course(NeedGraph((Need("s1", "", (), ()),), ()), ("a",))
    undefined = (run.coverage(1), run.depth_weighted_recall(1), run.deepest(1), run.lines(1))
    assert undefined == (None,) * 4
    assert stop_counts(run, "policy_stop") == StopCounts()


@st.composite
def courses(draw: st.DrawFn) -> Course:
    n = draw(st.integers(1, 6))
    uids = [f"u{i}" for i in range(8)]
    needs = tuple(
        Need(f"s{i}", "", (), tuple(draw(st.lists(st.sampled_from(uids), max_size=3, unique=True))))
        for i in range(n)
    )
    pairs = [(f"s{i}", f"s{j}") for i in range(n) for j in range(i + 1, n)]
    edges = tuple(draw(st.lists(st.sampled_from(pairs), unique=True))) if pairs else ()
    turns = draw(st.lists(st.lists(st.sampled_from([*uids, "x", "y"]), max_size=3, unique=True), max_size=8))
    start = draw(st.lists(st.sampled_from(uids), max_size=3, unique=True))
    return Course(NeedGraph(needs, edges), turns, start)


def in_hand(run: Course, asks: int) -> set[Uid]:
    return {*run.start, *(uid for turn in run.turns[:asks] for uid in turn)}


@given(courses())
def test_against_plain_sets(run: Course) -> None:
    """The graph's own functions of a set of paragraphs say the same at every prefix."""
    for asks in range(run.asks + 1):
        have = in_hand(run, asks)
        assert run.resolved(asks) == run.graph.resolved(have)
        assert run.frontier(asks) == run.graph.frontier(have)
        assert run.coverage(asks) == run.graph.coverage(have)
        depths = run.graph.depths
        edges = [(u, v) for u, v in run.graph.edges if {u, v} <= run.resolved(asks)]
        times = run.resolve_turns
        wrong = [times[v] < times[u] for u, v in edges]
        assert run.out_of_order(asks) == (sum(wrong) / len(wrong) if wrong else None)
        found = [depths[name] for name in run.graph.resolved(have)]
        assert run.deepest(asks) == (max(found, default=-1) if run.graph.required else None)


@given(courses(), st.integers(0, 8))
def test_order_against_a_recount_turn_by_turn(run: Course, asks: int) -> None:
    """What each turn found is worked out anew from the sets before and after it."""
    asks, graph, depths = min(asks, run.asks), run.graph, run.graph.depths
    late = timely = 0
    entered = set[str]()
    for turn in range(asks):
        now = graph.frontier(in_hand(run, turn))
        before = graph.frontier(in_hand(run, turn - 1)) if turn else frozenset()
        entered |= now
        found = graph.resolved(in_hand(run, turn + 1)) - graph.resolved(in_hand(run, turn))
        deep = {name for name in found if depths[name] > 0}
        late += bool(deep)
        timely += bool(deep & (now - before))
        uids = run.turns[turn]
        known = [uid for uid in uids if uid in in_hand(run, turn)]
        assert run.rho(turn) == (len(known) / len(uids) if uids else 1.0)
    entered |= graph.frontier(in_hand(run, asks))
    latent = {name for name in entered if depths[name] > 0}
    assert run.timely(asks) == (timely, late)
    assert run.latent(asks) == (len(latent & graph.resolved(in_hand(run, asks))), len(latent))


@given(courses(), st.integers(0, 8), st.integers(0, 3))
def test_repairs_against_a_recount(run: Course, asks: int, within: int) -> None:
    asks, required = min(asks, run.asks), {need.id for need in run.graph.required}
    early = repaired = 0
    for name in required:
        parents = {u for u, v in run.graph.edges if v == name and u in required}
        when = [k for k in range(asks + 1) if name in run.graph.resolved(in_hand(run, k))][:1]
        if when and not parents <= run.graph.resolved(in_hand(run, when[0])):
            early += 1
            repaired += parents <= run.graph.resolved(in_hand(run, min(when[0] + within, asks)))
    assert run.repairs(asks, within) == (repaired, early)


@given(courses(), st.booleans())
def test_lines_against_flooding(run: Course, optional: bool) -> None:
    """Lines are found anew, by spreading a mark along edges until nothing changes."""
    names = [need.id for need in run.graph.needs if optional or need.required]
    mark = {name: name for name in names}
    for _ in names:
        for u, v in run.graph.edges:
            if u in mark and v in mark:
                mark[u] = mark[v] = min(mark[u], mark[v])
    lines, done = set(mark.values()), run.resolved(run.asks)
    touched = {line for line in lines if any(mark[name] == line for name in done)}
    advanced = {
        line
        for line in touched
        for here in [[name for name in done if mark[name] == line]]
        if len(here) > 1 or run.graph.depths[here[0]] > 0
    }
    wanted = (len(touched) / len(lines), len(advanced) / len(lines)) if lines else (None, None)
    found = tuple(run.lines(run.asks, advanced=which, optional=optional) for which in (False, True))
    assert found == wanted


@given(courses())
def test_more_questions_never_lower_what_is_found(run: Course) -> None:
    for metric in (run.coverage, run.depth_weighted_recall, run.deepest, run.lines):
        for less, more in pairwise(curve(run, metric)):
            assert (less is None and more is None) or more >= less  # type: ignore[operator]


@given(courses(), st.randoms(use_true_random=False))
def test_the_order_of_paragraphs_within_a_turn_does_not_matter(run: Course, rng: object) -> None:
    mixed = [sorted(turn, key=lambda _: rng.random()) for turn in run.turns]  # type: ignore[attr-defined]
    other = Course(run.graph, mixed, run.start[::-1])
    assert other.resolve_turns == run.resolve_turns
    assert curve(other, other.redundancy) == curve(run, run.redundancy)
    assert other.timely(run.asks) == run.timely(run.asks)


@given(courses(), st.sampled_from(["policy_stop", "budget", "max_turns", "malformed"]))
def test_every_decision_is_counted_once(run: Course, stop: str) -> None:
    counts = stop_counts(run, stop)
    if run.graph.wanted:
        assert counts.done + counts.not_done + counts.halts == run.asks + 1
    assert counts.done_stop + counts.asks_after_done == counts.done
