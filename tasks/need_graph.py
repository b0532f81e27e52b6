"""Need graphs: what a task needs to know, and what can only be named once something else is known.

A graph is recovered mechanically from a data set's own annotation (arXiv 2609.37236): no person and no model
writes its nodes or edges. It serves scoring and labels; no agent ever sees it.
"""

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass

Uid = int | str
"""A paragraph: its position in the task's own pool, or its id in a corpus."""


class CyclicError(ValueError):
    """The annotation refers in a circle."""


@dataclass(frozen=True, slots=True)
class Need:
    """One thing to find out. A need without evidence is optional and never resolves."""

    id: str
    text: str
    answers: tuple[str, ...]
    """The answer and its aliases, where the data set gives them."""
    evidence: tuple[Uid, ...]
    """All of these have to be retrieved."""

    @property
    def required(self) -> bool:
        """Whether it counts: it has evidence that can be retrieved."""
        return bool(self.evidence)


@dataclass(frozen=True)
class NeedGraph:
    """Needs, and edges `(u, v)`: v can only be named after u is resolved. Raises CyclicError."""

    needs: tuple[Need, ...]
    edges: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        known = {need.id for need in self.needs}
        if len(known) < len(self.needs):
            raise ValueError("two needs of one id")
        if not {end for edge in self.edges for end in edge} <= known:
            raise ValueError("an edge to a need that is none")
        _ = self.depths

    @functools.cached_property
    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """The needs that come directly before each."""
        return {need.id: tuple(u for u, v in self.edges if v == need.id) for need in self.needs}

    @functools.cached_property
    def depths(self) -> Mapping[str, int]:
        """0 without parents, else 1 + the largest depth of a parent; optional needs count like others."""
        depths: dict[str, int] = {}
        waiting = [need.id for need in self.needs]
        while waiting:
            ready = [name for name in waiting if all(parent in depths for parent in self.parents[name])]
            if not ready:
                raise CyclicError(f"the steps {', '.join(waiting)} refer to one another in a circle")
            for name in ready:
                depths[name] = 1 + max((depths[parent] for parent in self.parents[name]), default=-1)
            waiting = [name for name in waiting if name not in depths]
        return depths

    @functools.cached_property
    def required(self) -> tuple[Need, ...]:
        """The needs that count."""
        return tuple(need for need in self.needs if need.required)

    def resolved(self, retrieved: Collection[Uid]) -> frozenset[str]:
        """The needs all of whose evidence has been retrieved."""
        return frozenset(need.id for need in self.required if all(uid in retrieved for uid in need.evidence))

    def coverage(self, retrieved: Collection[Uid]) -> float | None:
        """Share of the required needs' paragraphs that have been retrieved; None where none is required."""
        wanted = self.wanted
        return len(wanted.intersection(retrieved)) / len(wanted) if wanted else None

    @functools.cached_property
    def wanted(self) -> frozenset[Uid]:
        """The paragraphs of all required needs."""
        return frozenset(uid for need in self.required for uid in need.evidence)

    def frontier(self, retrieved: Collection[Uid]) -> frozenset[str]:
        """Unresolved required needs whose nearest required ancestors are all resolved.

        Optional needs are looked through: they stand for steps that nobody has to retrieve.
        """
        done = self.resolved(retrieved)
        return frozenset(
            need.id for need in self.required if need.id not in done and self.prerequisites[need.id] <= done
        )

    def passed_over(self, retrieved: Collection[Uid]) -> frozenset[str]:
        """Unresolved required needs that a resolved one depends on: the order to be repaired."""
        done = self.resolved(retrieved)
        required = {need.id for need in self.required}
        return frozenset(u for name in done for u in self.parents[name] if u in required - done)

    @functools.cached_property
    def prerequisites(self) -> Mapping[str, frozenset[str]]:
        """The nearest required ancestors of each need, through optional ones."""
        required = {need.id for need in self.required}
        found: dict[str, frozenset[str]] = {}
        for name in sorted(self.depths, key=self.depths.__getitem__):
            found[name] = frozenset().union(
                *(
                    frozenset([parent]) if parent in required else found[parent]
                    for parent in self.parents[name]
                )
            )
        return found

    @functools.cached_property
    def lines(self) -> tuple[frozenset[str], ...]:
        """Required needs that edges between required needs connect."""
        return self._connected({need.id for need in self.required})

    @functools.cached_property
    def lines_of_all(self) -> tuple[frozenset[str], ...]:
        """Needs that edges connect, optional ones included."""
        return self._connected({need.id for need in self.needs})

    def _connected(self, names: Collection[str]) -> tuple[frozenset[str], ...]:
        lines = [frozenset([need.id]) for need in self.needs if need.id in names]
        for ends in self.edges:
            if set(ends) <= set(names):
                joined = [line for line in lines if not line.isdisjoint(ends)]
                lines = [line for line in lines if line.isdisjoint(ends)] + [frozenset().union(*joined)]
        return tuple(lines)
