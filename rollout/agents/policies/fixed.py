"""Questioners that need no model: they stop, walk a list, or know the graph."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rollout.agents.protocol import Evidence, Reply, Said, State
from tasks.move import STOP_TEXT, Ask, Stop, spell
from tasks.multi_hop import Gold, Question
from tasks.need_graph import Need

FACETS = (
    "{}",
    "who is meant in: {}",
    "background of: {}",
    "when did it happen: {}",
    "where did it happen: {}",
    "what is it part of: {}",
    "who made or founded it: {}",
    "what is known about: {}",
)
"""What can be asked about any request."""


def asked(question: str) -> Reply:
    """A question that no model wrote."""
    move = Ask(" ".join(question.split()))
    return Reply(move, spell(move), "") if move.question else stopped()


def stopped() -> Reply:
    """A STOP that no model wrote."""
    return Reply(Stop(), STOP_TEXT, "")


@dataclass(frozen=True, slots=True)
class Walk:
    """Asks a list of questions in turn, then stops."""

    questions: Sequence[str]

    async def next(self, state: State, seed: int) -> Reply:
        """See `Questioner`."""
        place = len(state.history)
        return asked(self.questions[place]) if place < len(self.questions) else stopped()


def facets(question: Question) -> Walk:
    """The fixed facets of a request."""
    return Walk([facet.format(question.text) for facet in FACETS])


@dataclass(frozen=True, slots=True)
class Oracle:
    """Asks for an open need whose parents are resolved, the one that it asked for least; it sees the gold."""

    gold: Gold

    async def next(self, state: State, seed: int) -> Reply:
        """See `Questioner`."""
        graph = self.gold.graph
        open_needs = graph.frontier([one.uid for one in state.evidence])
        if not open_needs:
            return stopped()
        texts = {need.id: self._spelled(need) for need in graph.needs if need.id in open_needs}
        so_far = [question for question, _ in state.history]
        return asked(min(texts.values(), key=so_far.count))

    def _spelled(self, need: Need) -> str:
        """The need's own words, with the answers of the steps that it names."""
        answers = {one.id: one.answers[0] for one in self.gold.graph.needs if one.answers}
        return re.sub(r"#(\d+)", lambda found: answers.get(f"s{found[1]}", found[0]), need.text)


class Silent:
    """No drafter: nobody answers, nothing is drafted."""

    async def resolve(
        self, question: Question, asked: str, evidence: Evidence, fetched: Evidence, seed: int
    ) -> Said:
        """See `Drafter`."""
        return Said("")

    async def draft(self, question: Question, evidence: Evidence, seed: int) -> Said:
        """See `Drafter`."""
        return Said("")
