"""Which of several places (engines, servers) takes a prompt: the least loaded, or the one that knows it.

A place that has read the beginning of a prompt holds it in its prefix cache, so the next turn of a dialogue
and the next sample of a group are cheaper there, as long as it is not much busier than the others.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterator

from rollout.generators.protocol import Ids

BLOCK = 16
"""Tokens; vLLM's own block on a GPU, so that what counts as known here can be known there."""
MEMORY = 1 << 17
"""Blocks that are remembered."""


class Balancer:
    """Counts the load of each place and remembers which prompts it has read.

    Affinity gives way when its place has more than `slack` requests above the least loaded one.
    """

    def __init__(self, places: int, slack: int) -> None:
        self.load = [0] * places
        self.slack = slack
        self._known: OrderedDict[int, set[int]] = OrderedDict()

    def pick(self, prompt_ids: Ids, open: Collection[int]) -> int:
        """The place among `open` (not empty) for a prompt; counts one request there until `done`."""
        blocks = list(_blocks(prompt_ids))
        least = min(self.load[place] for place in open)
        near = [place for place in open if self.load[place] <= least + self.slack]
        place = max(near, key=lambda place: (self._match(blocks, place), -self.load[place], -place))
        self._remember(blocks, place)
        self.load[place] += 1
        return place

    def done(self, place: int) -> None:
        """One request of this place has ended."""
        self.load[place] -= 1

    def forget(self, place: int) -> None:
        """The place has lost its cache."""
        for places in self._known.values():
            places.discard(place)

    def _match(self, blocks: list[int], place: int) -> int:
        """How many blocks from the start this place knows."""
        for count, block in enumerate(blocks):
            if place not in self._known.get(block, ()):
                return count
        return len(blocks)

    def _remember(self, blocks: list[int], place: int) -> None:
        for block in blocks:
            self._known.setdefault(block, set()).add(place)
            self._known.move_to_end(block)
        while len(self._known) > MEMORY:
            self._known.popitem(last=False)


def _blocks(ids: Ids) -> Iterator[int]:
    """A key for the prompt up to the end of each of its whole blocks."""
    key = 0
    for end in range(BLOCK, len(ids) + 1, BLOCK):
        key = hash((key, ids[end - BLOCK : end]))
        yield key
