"""Controls without questions: what longer answers and as many tokens are worth by themselves."""

import math
from collections import Counter
from dataclasses import dataclass

from rollout.agents.drafter import ModelAnswerer
from rollout.agents.protocol import Evidence, Said, Spent
from rollout.seeds import derive
from tasks.multi_hop import Question

AT_ONCE, MOST = 8, 512
"""Answers that are sampled side by side, and altogether."""


@dataclass(frozen=True, slots=True)
class SelfConsistent:
    """Samples answers until so many tokens are spent; the most frequent counts, of equals the first."""

    answerer: ModelAnswerer
    budget: int

    async def answer(self, question: Question, evidence: Evidence, draft: str, seed: int) -> Said:
        """See `Answerer`."""
        prompt = self.answerer.prompt(question, evidence, draft)
        answers: list[str] = []
        spent = Spent()
        while (spent.total < self.budget and len(answers) < MOST) or not answers:
            seeds = [derive(seed, question.id, len(answers) + i) for i in range(self._more(spent, answers))]
            for said in await self.answerer.speaker.say_each(prompt, seeds, 1.0):
                answers.append(self.answerer.cut(said.text))
                spent += said.spent
        counts = Counter(" ".join(answer.casefold().split()) for answer in answers)
        most = counts.most_common(1)[0][0]
        return Said(next(a for a in answers if " ".join(a.casefold().split()) == most), spent)

    def _more(self, spent: Spent, answers: list[str]) -> int:
        """How many fit into what is left, by what one took so far."""
        if not answers:
            return 1
        left = math.ceil((self.budget - spent.total) / max(1, spent.total / len(answers)))
        return max(1, min(AT_ONCE, left))
