"""Members of a domain: each once, whatever its spelling, and quickly where there are many."""

import time

import pytest

from tasks.schema_domain import read_domain
from tasks.tool_types import Parameter


@pytest.mark.parametrize(
    ("enum", "values"),
    [
        ([1, True, 1.0, "1", None, None, False, 0], (1, True, "1", None, False, 0)),
        (["a", " a", "a\n", "b"], ("a", "b")),
        ([[1], [1.0], [True], {"a": 1}, {"a": 1.0}, "x"], ([1], [True], {"a": 1}, "x")),
    ],
)
def test_each_member_counts_once(enum: list[object], values: tuple[object, ...]) -> None:
    found = read_domain({"enum": enum}, Parameter("p", "any")).values
    assert list(map(repr, found)) == list(map(repr, values))


def test_a_hundred_thousand_members_are_read_in_a_moment() -> None:
    for enum in (
        list(range(100_000)),
        [f"name {i}" for i in range(100_000)],
        [i / 7 for i in range(100_000)],
    ):
        start = time.perf_counter()
        assert read_domain({"enum": enum + enum[:9]}, Parameter("p", "any")).size == 100_000
        assert time.perf_counter() - start < 5  # 0.1 s; a crowded machine may take its time
    assert read_domain({"enum": ["1", 1, "01"]}, Parameter("p", "integer")).values == (1,)
