import asyncio
from math import nan

import pytest

from rollout.generators import Generation, Request, Sampling
from rollout.generators.scripted import Scripted


def test_completes_in_order_and_cuts_at_the_budget() -> None:
    generator = Scripted(lambda request: [*request.prompt_ids, 7])
    seen: list[int] = []
    requests = [Request((1,)), Request((1, 2, 3))]
    found = asyncio.run(generator.generate(requests, Sampling(2), lambda i, _: seen.append(i)))
    assert found == [Generation((1, 7), (nan, nan), "stop"), Generation((1, 2), (nan, nan), "length")]
    assert seen == [0, 1]


@pytest.mark.parametrize(
    ("budget", "temperature"), [(0, 1.0), (1, -0.1), (1, float("inf")), (1, float("nan"))]
)
def test_sampling_refuses_what_cannot_be(budget: int, temperature: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        Sampling(budget, temperature)
