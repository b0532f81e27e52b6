import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.need_graph import CyclicError, Need, NeedGraph


def graph(evidence: dict[str, tuple[int, ...]], *edges: tuple[str, str]) -> NeedGraph:
    return NeedGraph(tuple(Need(name, name, (), uids) for name, uids in evidence.items()), edges)


# a and b are asked at once; o is an operation on a; c needs o and b; d needs two paragraphs and c.
WORKED = graph(
    {"a": (1,), "b": (2,), "o": (), "c": (3,), "d": (4, 5)}, ("a", "o"), ("o", "c"), ("b", "c"), ("c", "d")
)


def test_depths_count_optional_steps_too() -> None:
    assert WORKED.depths == {"a": 0, "b": 0, "o": 1, "c": 2, "d": 3}
    assert [need.id for need in WORKED.required] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("retrieved", "frontier", "resolved", "coverage"),
    [
        ((), {"a", "b"}, set(), 0.0),
        ((1,), {"b"}, {"a"}, 0.2),  # c waits for b, and through the operation for a, which is known
        ((2,), {"a"}, {"b"}, 0.2),
        ((1, 2), {"c"}, {"a", "b"}, 0.4),
        ((1, 2, 3, 4), {"d"}, {"a", "b", "c"}, 0.8),  # one paragraph of two
        ((4, 5), {"a", "b"}, {"d"}, 0.4),  # found before its turn, and resolved all the same
        ((1, 2, 3, 4, 5, 9), set(), {"a", "b", "c", "d"}, 1.0),
    ],
)
def test_a_worked_graph(
    retrieved: tuple[int, ...], frontier: set[str], resolved: set[str], coverage: float
) -> None:
    assert WORKED.frontier(retrieved) == frontier
    assert WORKED.resolved(retrieved) == resolved
    assert WORKED.coverage(retrieved) == coverage


@pytest.mark.parametrize(
    ("turns", "coverage", "frontiers"),
    [
        (["ax", "cd", "ba", "ey", "ab"], [0, 0.2, 0.6, 0.8, 1, 1], ["14", "24", "24", "4", "", ""]),
        (["a", "bd", "ez"], [0, 0.2, 0.6, 0.8], ["14", "24", "34", "3"]),
        (["ad", "ex", "yz"], [0, 0.4, 0.6, 0.6], ["14", "24", "2", "2"]),
    ],
)
def test_three_transcripts(turns: list[str], coverage: list[float], frontiers: list[str]) -> None:
    """s1 {a} before s2 {b} before s3 {c}, and s4 {d e} on its own; each letter is a paragraph."""
    needs = {"s1": "a", "s2": "b", "s3": "c", "s4": "de"}
    found = NeedGraph(
        tuple(Need(name, "", (), tuple(uids)) for name, uids in needs.items()), (("s1", "s2"), ("s2", "s3"))
    )
    retrieved = ["".join(turns[:k]) for k in range(len(turns) + 1)]
    assert [found.coverage(set(uids)) for uids in retrieved] == coverage
    assert [sorted(found.frontier(set(uids))) for uids in retrieved] == [
        [f"s{digit}" for digit in digits] for digits in frontiers
    ]


def test_nothing_required_has_no_coverage() -> None:
    assert graph({"o": ()}).coverage((1,)) is None


def test_what_is_no_graph_is_refused() -> None:
    with pytest.raises(CyclicError, match="a, b refer to one another"):
        graph({"a": (1,), "b": (2,)}, ("a", "b"), ("b", "a"))
    with pytest.raises(ValueError, match="a need that is none"):
        graph({"a": (1,)}, ("a", "x"))
    with pytest.raises(ValueError, match="two needs of one id"):
        NeedGraph((Need("a", "", (), (1,)), Need("a", "", (), (2,))), ())


@given(st.data())
def test_coverage_grows_and_the_frontier_is_never_empty_before_the_end(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 7))
    needs = {f"n{i}": tuple(data.draw(st.sets(st.integers(0, 5), max_size=2))) for i in range(count)}
    pairs = [(f"n{i}", f"n{j}") for j in range(count) for i in range(j)]
    edges = data.draw(st.sets(st.sampled_from(pairs), max_size=8)) if pairs else set()
    found = graph(needs, *edges)
    before = 0.0
    for end in range(7):
        coverage = found.coverage(range(end))
        if coverage is None:
            return
        assert before <= coverage
        assert bool(found.frontier(range(end))) == (coverage < 1.0)
        before = coverage
