"""Scripted roles of the miniature worlds (`tasks.mini_hops`): a drafter, an answerer and a questioner.

The drafter never gives away whether the evidence is complete: it names an answer whatever it has read, and
where a chain breaks off it names somebody else. Whoever is to learn when to stop has to follow the chains.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from rollout.agents.protocol import Evidence, Reply, Said, Spent, State
from rollout.agents.questioner import prompt_of
from tasks.mini_hops import RELATIONS, Chain, Fact, chains_of, facts_of
from tasks.move import Ask, Stop, spell
from tasks.multi_hop import Question

NOT_FOUND = "the answer is not here"
DRAFT = "the answer is "
STOP_EARLY = 0.25
"""Share of a questioner's slips that are a STOP too early."""


class MiniDrafter:
    """Quotes the facts that a question names, and drafts the ends of the task's chains."""

    async def resolve(
        self, question: Question, asked: str, evidence: Evidence, fetched: Evidence, seed: int
    ) -> Said:
        """See `Drafter`."""
        words = set(asked.split())
        about = [fact for fact in known(evidence) if {fact.subject, fact.relation} <= words]
        text = " and ".join(fact.text for fact in about) or NOT_FOUND
        return _said(text, question.text, asked, evidence)

    async def draft(self, question: Question, evidence: Evidence, seed: int) -> Said:
        """See `Drafter`. A chain that breaks off is ended by a name drawn from (task, evidence, seed)."""
        facts = known(evidence)
        chains = chains_of(question.text)
        names = sorted({name for fact in facts for name in (fact.subject, fact.value)})
        names = names or [chain.root for chain in chains] or ["nobody"]
        rng = random.Random(f"{question.id}/{seed}/{','.join(one.uid for one in evidence)}")
        reached = [_walk(chain, facts) for chain in chains]
        ends = [rng.choice(names) if still_open else end for end, still_open in reached]
        return _said(DRAFT + " and ".join(ends or names[:1]), question.text, "", evidence)


class MiniAnswerer:
    """Gives the draft's answer."""

    async def answer(self, question: Question, evidence: Evidence, draft: str, seed: int) -> Said:
        """See `Answerer`."""
        return _said(draft.removeprefix(DRAFT), question.text, draft, evidence)


@dataclass(frozen=True, slots=True)
class Walker:
    """Asks for the next link of the first open chain, and stops when none is open.

    In a share `slip` of its moves it asks for something else that the task or the evidence names, or stops
    too early; where it should stop, it asks on in a share `eager`. Prompts are those of a trained questioner.
    """

    slip: float = 0.0
    eager: float = 0.0

    def prompt(self, state: State) -> str:
        """What it reads."""
        return prompt_of(state)

    async def next(self, state: State, seed: int) -> Reply:
        """See `Questioner`."""
        rng = random.Random(f"{state.question.id}/{seed}/{len(state.history)}")
        return self._reply(state, rng, self.slip)

    async def sample(self, state: State, seeds: Sequence[int], temperature: float) -> list[Reply]:
        """One move for each seed; at temperature 1 half of them are slips."""
        prompt = self.prompt(state)
        slip = max(self.slip, min(1.0, temperature) / 2)
        return [self._reply(state, random.Random(f"{prompt}/{seed}"), slip) for seed in seeds]

    def _reply(self, state: State, rng: random.Random, slip: float) -> Reply:
        prompt = self.prompt(state)
        move = self._move(state, rng, slip)
        text = spell(move)
        return Reply(move, text, prompt, Spent(len(prompt.split()), len(text.split())))

    def _move(self, state: State, rng: random.Random, slip: float) -> Ask | Stop:
        facts = known(state.evidence)
        chains = chains_of(state.question.text)
        steps = [(end, links[0]) for end, links in (_walk(chain, facts) for chain in chains) if links]
        wanders = rng.random() < (slip if steps else max(slip, self.eager))
        if steps and not wanders:
            return _ask(*steps[0])
        if not wanders or (steps and rng.random() < STOP_EARLY):
            return Stop()
        named = [relation for chain in chains for relation in chain.relations] or RELATIONS
        names = [chain.root for chain in chains] + [fact.value for fact in facts]
        return _ask(rng.choice(names), rng.choice(named)) if names else Stop()


def known(evidence: Evidence) -> list[Fact]:
    """The facts of these paragraphs."""
    return [fact for one in evidence for fact in facts_of(one.text)]


def _ask(subject: str, relation: str) -> Ask:
    return Ask(f"who is the {relation} of {subject} ?")


def _walk(chain: Chain, facts: list[Fact]) -> tuple[str, tuple[str, ...]]:
    """How far the facts lead: the name that is reached, and the relations still to follow from it."""
    values = {(fact.subject, fact.relation): fact.value for fact in facts}
    subject = chain.root
    for place, relation in enumerate(chain.relations):
        if (subject, relation) not in values:
            return subject, chain.relations[place:]
        subject = values[subject, relation]
    return subject, ()


def _said(text: str, question: str, given: str, evidence: Evidence) -> Said:
    read = sum(len(one.text.split()) for one in evidence) + len(question.split()) + len(given.split())
    return Said(text, Spent(read, len(text.split())))
