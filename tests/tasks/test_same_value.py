"""One notion of equal values, for matching calls and for membership in a domain."""

import pytest

from tasks.same_value import same
from tasks.tool_types import UNKNOWN, Domain, Json

DEEP: Json = 1
for _ in range(5000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (" thai", "thai", True),
        ("thai", "Thai", False),
        (1, 1.0, True),
        (0.1 + 0.2, 0.3, True),
        (1, True, False),
        (0, False, False),
        (None, None, True),
        (None, UNKNOWN, False),
        (UNKNOWN, UNKNOWN, True),
        ("1", 1, False),
        ([1, {"a": "x "}], (1.0, {"a": "x"}), True),
        ([1], [1, 2], False),
        ({"a": 1}, {"b": 1}, False),
        (10**400, 1.5, False),
        (DEEP, [DEEP], False),
    ],
)
def test_same(one: Json, other: Json, expected: bool) -> None:
    assert same(one, other) is same(other, one) is expected


def test_a_domain_knows_its_members_by_the_same_notion() -> None:
    domain = Domain("finite", ("thai", 2))
    assert [domain.contains(x) for x in (" thai ", 2.0, "Thai", True)] == [True, True, False, False]
