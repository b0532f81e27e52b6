"""Models that draft and answer: frozen, so that what they say depends on their arguments alone."""

from dataclasses import dataclass

from rollout.agents import templates
from rollout.agents.protocol import Evidence, Said
from rollout.agents.speaker import Speaker
from tasks.multi_hop import Question


@dataclass(frozen=True, slots=True)
class ModelDrafter:
    """Answers the questioner in at most three sentences, and keeps the draft."""

    resolver: Speaker
    drafter: Speaker
    resolve_template: str = "resolve"
    draft_template: str = "draft"

    async def resolve(
        self, question: Question, asked: str, evidence: Evidence, fetched: Evidence, seed: int
    ) -> Said:
        """See `Drafter`. What the question fetched comes first."""
        uids = {one.uid for one in fetched}
        rest = tuple(one for one in evidence if one.uid not in uids)
        prompt = templates.render(
            self.resolve_template, question=question, asked=asked, fetched=fetched, rest=rest
        )
        return await self.resolver.say(prompt, seed)

    async def draft(self, question: Question, evidence: Evidence, seed: int) -> Said:
        """See `Drafter`."""
        told = templates.instructions(question.suite)
        prompt = templates.render(
            self.draft_template, question=question, evidence=evidence, instructions=told
        )
        return await self.drafter.say(prompt, seed)


@dataclass(frozen=True, slots=True)
class ModelAnswerer:
    """The final answer, cut at so many words."""

    speaker: Speaker
    word_cap: int
    template: str = "answer"

    def prompt(self, question: Question, evidence: Evidence, draft: str) -> str:
        """What it reads."""
        return templates.render(
            self.template,
            question=question,
            evidence=evidence,
            draft=draft,
            instructions=templates.instructions(question.suite),
            words=self.word_cap,
        )

    def cut(self, text: str) -> str:
        """An answer of at most so many words."""
        return " ".join(text.split()[: self.word_cap])

    async def answer(self, question: Question, evidence: Evidence, draft: str, seed: int) -> Said:
        """See `Answerer`."""
        said = await self.speaker.say(self.prompt(question, evidence, draft), seed)
        return Said(self.cut(said.text), said.spent)
