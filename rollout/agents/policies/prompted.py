"""Questioners that prompt the model in another way than the trained policy is prompted."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from rollout.agents import templates
from rollout.agents.memo import Memo
from rollout.agents.policies.fixed import asked, stopped
from rollout.agents.protocol import Reply, Said, Spent, State
from rollout.agents.questioner import ModelQuestioner
from rollout.agents.speaker import Speaker
from tasks.move import Ask, Move, Stop, parse
from tasks.multi_hop import Question


@dataclass(frozen=True, slots=True)
class CapAware:
    """The usual prompt, and how many questions are left."""

    speaker: Speaker
    cap: int

    async def next(self, state: State, seed: int) -> Reply:
        """See `Questioner`."""
        left = self.cap - len(state.history)
        prompt = (
            f"{ModelQuestioner(self.speaker).prompt(state)}\n\nYou can ask {left} more questions at most."
        )
        said = await self.speaker.say(prompt, seed)
        return Reply(parse(said.text), said.text, prompt, said.spent)


@dataclass(frozen=True, slots=True)
class FreeText:
    """A model that writes plain text, in which `read` finds the move."""

    speaker: Speaker
    template: str
    read: Callable[[str], Move]

    async def next(self, state: State, seed: int) -> Reply:
        """See `Questioner`."""
        told = templates.instructions(state.question.suite)
        prompt = templates.render(self.template, state=state, instructions=told)
        said = await self.speaker.say(prompt, seed)
        return Reply(self.read(said.text), said.text, prompt, said.spent)


def follow_up(text: str) -> Move:
    """Self-ask: what follows `Follow up:`; STOP where a final answer comes first, or neither is found."""
    found = re.search(r"follow[- ]?up:\s*([^\n]+)|(final answer)", text, re.IGNORECASE)
    if found is None:
        return Stop("neither a follow-up question nor a final answer")
    return Ask(found[1].strip()) if found[1] and found[1].strip() else Stop()


def next_thought(text: str) -> Move:
    """IRCoT: the first sentence, which is the next query; STOP where it gives the answer or is none."""
    sentence = re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0].strip()
    if not sentence:
        return Stop("no sentence")
    return Stop() if re.search(r"\banswer is\b", sentence, re.IGNORECASE) else Ask(sentence)


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of questions that a model writes once, from the request alone; then `after` goes on, or STOP.

    The list is a function of (question, seed of the episode): it is kept, and paid for on the first turn.
    """

    speaker: Speaker
    template: str
    n: int
    memo: Memo
    pin: str
    after: ModelQuestioner | None = None

    async def next(self, state: State, seed: int) -> Reply:
        """See `Questioner`."""
        place = len(state.history)
        said, questions = await self._list(state.question, seed - place)
        if place >= len(questions):
            return stopped() if self.after is None else await self.after.next(state, seed)
        reply = asked(questions[place])
        return Reply(reply.move, reply.text, "", said.spent if place == 0 else Spent())

    async def _list(self, question: Question, seed: int) -> tuple[Said, list[str]]:
        told = templates.instructions(question.suite)
        prompt = templates.render(self.template, question=question, instructions=told, n=self.n)
        parts = ("list", self.template, self.n, self.pin, question, seed)
        said = await self.memo.get(parts, lambda: self.speaker.say(prompt, seed))
        return said, items(said.text)[: self.n] or [question.text]


def items(text: str) -> list[str]:
    """The lines of a list without their bullets and numbers, each once."""
    lines = (re.sub(r"^\s*(?:[-*•]|\(?\d+[.):])\s*", "", line).strip() for line in text.splitlines())
    return list(dict.fromkeys(line for line in lines if re.search(r"\w", line) and not line.endswith(":")))
