from hypothesis import given
from hypothesis import strategies as st

from rollout.generators.balance import BLOCK, Balancer

LONG = tuple(range(10 * BLOCK))


def test_the_next_turn_goes_where_the_first_was_read() -> None:
    balancer = Balancer(3, slack=2)
    first = balancer.pick(LONG, range(3))
    balancer.done(first)
    other = balancer.pick((7,) * 5 * BLOCK, range(3))
    assert balancer.pick((*LONG, 1, 2, 3), range(3)) == first
    assert other in range(3)


def test_affinity_gives_way_to_load() -> None:
    balancer = Balancer(2, slack=2)
    picked = [balancer.pick(LONG, range(2)) for _ in range(8)]
    assert picked[:3] == [0, 0, 0]  # up to two above the least loaded
    assert picked[3] == 1
    assert abs(picked.count(0) - picked.count(1)) <= 2


def test_what_is_unknown_goes_to_the_least_loaded_open_place() -> None:
    balancer = Balancer(3, slack=0)
    assert [balancer.pick((i,), [0, 1, 2]) for i in range(3)] == [0, 1, 2]
    balancer.done(1)
    assert balancer.pick((9,), [0, 1, 2]) == 1
    assert balancer.pick((9,), [2]) == 2


def test_a_place_that_lost_its_cache_is_not_preferred() -> None:
    balancer = Balancer(2, slack=5)
    assert balancer.pick((1,), range(2)) == 0
    assert balancer.pick(LONG, range(2)) == 1
    balancer.forget(1)
    balancer.pick((1,), [1])
    assert balancer.pick(LONG, range(2)) == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=60))
def test_loads_are_counted_exactly(events: list[tuple[int, bool]]) -> None:
    balancer, under_way = Balancer(3, slack=1), list[int]()
    for prompt, ends in events:
        if ends and under_way:
            balancer.done(under_way.pop())
        else:
            under_way.append(balancer.pick((prompt,) * 3 * BLOCK, range(3)))
        assert balancer.load == [under_way.count(place) for place in range(3)]
