"""Roles of a few lines, and the graph of the guide's worked example, for tests of episodes and records."""

from collections.abc import Sequence
from dataclasses import dataclass

from rollout.agents import Reply, Roles, Said, Spent, State
from rollout.agents.protocol import Evidence
from rollout.episode import Limits
from rollout.recorder import Recipe
from tasks.move import STOP_TEXT, Ask, parse, spell
from tasks.multi_hop import Gold, MultiHopTask, Paragraph, Question, uid_of
from tasks.need_graph import Need, NeedGraph

TEXTS = (
    ("Lake", "the red lake lies in Orland ."),
    ("Orland", "the capital of Orland is Mira ."),
    ("Mira", "the mayor of Mira is Tom ."),
    ("Other", "a blue bird sings ."),
)
RECIPE = Recipe("hand", {"questioner": "q", "drafter": "d", "answerer": "a"}, Limits(cap=8, k=1))


def task(name: str = "t1") -> MultiHopTask:
    """A chain of three: lake, Orland, Mira."""
    pool = tuple(
        Paragraph(uid_of("hand", name, i, text), title, text) for i, (title, text) in enumerate(TEXTS)
    )
    needs = tuple(Need(f"s{i + 1}", text, (), (pool[i].uid,)) for i, (_, text) in enumerate(TEXTS[:3]))
    graph = NeedGraph(needs, (("s1", "s2"), ("s2", "s3")))
    gold = Gold("hand", name, ("Tom",), graph, cluster=name, answer_need="s3")
    return MultiHopTask(
        Question("hand", name, "Who is the mayor of the capital by the red lake?"), pool, gold
    )


@dataclass(frozen=True)
class Listed:
    """Writes its texts one after the other, then STOP."""

    texts: Sequence[str]

    async def next(self, state: State, seed: int) -> Reply:
        place = len(state.history)
        text = self.texts[place] if place < len(self.texts) else STOP_TEXT
        return Reply(parse(text), text, f"{state}", Spent(10, len(text.split())))


class Plain:
    """A drafter that quotes, an answerer that repeats the draft."""

    async def resolve(
        self, question: Question, asked: str, evidence: Evidence, fetched: Evidence, seed: int
    ) -> Said:
        return Said(" ".join(one.text for one in fetched) or "unknown", Spent(5, 2))

    async def draft(self, question: Question, evidence: Evidence, seed: int) -> Said:
        return Said(" ".join(one.text for one in evidence), Spent(3, 1))

    async def answer(self, question: Question, evidence: Evidence, draft: str, seed: int) -> Said:
        return Said(draft[-20:], Spent(2, 1))


def asks(*questions: str) -> Listed:
    """A questioner of these questions."""
    return Listed([spell(Ask(question)) for question in questions])


@dataclass(frozen=True)
class Everywhere:
    """The same questioner for every task."""

    questioner: Listed

    def for_task(self, question: Question, seed: int) -> tuple[Roles, Sequence[str]]:
        return Roles(self.questioner, Plain(), Plain()), ()
