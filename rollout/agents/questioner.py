"""A model that asks: the prompt of a state, and the move that was written under it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from rollout.agents import templates
from rollout.agents.protocol import Reply, Said, State
from rollout.agents.speaker import Speaker
from tasks.move import STOP_TEXT, Ask, parse, spell

CUT = 1200
"""Characters of a paragraph that a questioner sees."""

MOVE_SCHEMA = json.dumps(
    {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "action": {"const": "ASK"},
                    "question": {"type": "string", "minLength": 1, "maxLength": 300},
                    "rationale": {"type": "string", "maxLength": 300},
                    "parents": {"type": "array", "items": {"type": "string", "maxLength": 16}, "maxItems": 4},
                },
                "required": ["action", "question", "rationale", "parents"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {"action": {"const": "STOP"}},
                "required": ["action"],
                "additionalProperties": False,
            },
        ]
    }
)
"""The two moves, for engines that can keep a small model to them."""

ASK_FORM = spell(Ask("...", "...", ("...",)))


def prompt_of(state: State, template: str = "questioner") -> str:
    """What a questioner reads: nothing of budgets or turns, and paragraphs cut at 1,200 characters."""
    return templates.render(
        templates.for_suite(template, state.question.suite),
        state=state,
        instructions=templates.instructions(state.question.suite),
        cut=CUT,
        ask=ASK_FORM,
        stop=STOP_TEXT,
    )


@dataclass(frozen=True, slots=True)
class ModelQuestioner:
    """The questioner of arXiv 2609.37236: trained and prompted policies read the same prompt."""

    speaker: Speaker
    template: str = "questioner"

    def prompt(self, state: State) -> str:
        """What it reads, see `prompt_of`."""
        return prompt_of(state, self.template)

    async def next(self, state: State, seed: int) -> Reply:
        """See `Questioner`."""
        prompt = self.prompt(state)
        return _reply(prompt, await self.speaker.say(prompt, seed))

    async def sample(self, state: State, seeds: Sequence[int], temperature: float) -> list[Reply]:
        """Moves at one state, one for each seed; the prompt is read once."""
        prompt = self.prompt(state)
        return [_reply(prompt, said) for said in await self.speaker.say_each(prompt, seeds, temperature)]


def _reply(prompt: str, said: Said) -> Reply:
    return Reply(parse(said.text), said.text, prompt, said.spent)
