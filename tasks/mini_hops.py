"""Made-up multi-hop worlds with known need graphs, in a closed vocabulary that a tiny model can learn.

A task asks for the ends of chains: "who is the mentor of the founder of bado ?" needs the founder of bado,
say kiru, before the mentor of kiru can be named. Each fact is a paragraph of a pool of twenty. They are drawn
anew for every task, so nothing can be known beforehand. Three worlds:

* `single`: one chain of two to four links.
* `threads`: two or three chains that have nothing to do with one another (no public suite has them).
* `gated`: chains whose later paragraphs no query can fetch that does not name the answer before. Two decoys a
  link see to it: each holds every word of the link's paragraph but its subject, and is shorter, so BM25 ranks
  both higher whatever else is asked for, and a question fetches two paragraphs.
"""

import hashlib
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

from tasks.errors import InputError
from tasks.multi_hop import Gold, MultiHopSet, MultiHopTask, Paragraph, Question, uid_of
from tasks.need_graph import Need, NeedGraph
from tasks.splits import split_of

SUITE = "mini_hops"
TOP_K, WORD_CAP, POOL = 2, 8, 20

RELATIONS = (
    "founder mentor owner rival heir tutor patron author editor painter builder sister brother teacher "
    "captain mayor host guard partner ally"
).split()
NAMES = tuple(
    first + second
    for first in "ba ce di fo gu ha ji ko lu me ni po ra su ti vo".split()
    for second in "bar del fin gor lum mas nek pil rox sut tan vek wim zor".split()
)
GLUE = "who is the of and : ? answer".split()

World = Literal["single", "threads", "gated"]
LENGTHS: dict[World, tuple[tuple[int, ...], ...]] = {
    "single": ((2,), (3,), (4,)),
    "threads": ((1, 2), (2, 2), (1, 3), (2, 3), (1, 1, 2), (1, 2, 2)),
    "gated": ((2,), (3,), (1, 2), (2, 2)),
}
"""Links of the chains of a task, one of these for each."""


@dataclass(frozen=True, slots=True)
class Config:
    """Keys of a recipe's `task:` section for `use: mini_hops`."""

    split: Literal["train", "dev", "test", "all"]
    """Of `tasks.splits`, as for every suite."""
    tasks: int = 600
    worlds: tuple[World, ...] = ("single", "threads", "gated")

    def __post_init__(self) -> None:
        if self.tasks < 1:
            raise InputError(f"task.tasks: {self.tasks} tasks; use at least 1")
        if not self.worlds or len(set(self.worlds)) < len(self.worlds):
            raise InputError("task.worlds: name each world once, at least one")


@dataclass(frozen=True, slots=True)
class Fact:
    """`relation` of `subject` is `value`."""

    subject: str
    relation: str
    value: str

    @property
    def text(self) -> str:
        """As a sentence."""
        return f"the {self.relation} of {self.subject} is {self.value}"


@dataclass(frozen=True, slots=True)
class Chain:
    """Relations to follow from a name on, the first first."""

    root: str
    relations: tuple[str, ...]

    @property
    def text(self) -> str:
        """As a question: the last relation is named first."""
        links = " of ".join(f"the {relation}" for relation in reversed(self.relations))
        return f"who is {links} of {self.root}"


def load(config: Config, seed: int) -> MultiHopSet:
    """The first tasks of a split, the worlds in turn: a pure function of (config, seed)."""
    streams = [_of_split(world, config.split, seed) for world in config.worlds]
    tasks = tuple(next(streams[place % len(streams)]) for place in range(config.tasks))
    spelled = "\n".join(f"{task.question} {task.pool} {task.gold}" for task in tasks)
    return MultiHopSet(tasks, {}, {f"{SUITE}/{config.split}": hashlib.sha256(spelled.encode()).hexdigest()})


def _of_split(world: World, split: str, seed: int) -> Iterator[MultiHopTask]:
    for number in count():
        identity = f"{world}-{seed}-{number}"
        if split in ("all", split_of(SUITE, identity)):
            yield task_of(world, identity)


def chains_of(text: str) -> list[Chain]:
    """The chains that a question follows, read from its words; none of them where it is no such question."""
    found = re.findall(r"who is the ((?:\w+ of the )*\w+) of (\w+)", text)
    return [Chain(root, tuple(reversed(links.split(" of the ")))) for links, root in found]


def facts_of(text: str) -> list[Fact]:
    """The facts that a text states."""
    found = re.findall(r"the (\w+) of (\w+) is (\w+)", text)
    return [Fact(subject, relation, value) for relation, subject, value in found]


def task_of(world: World, identity: str) -> MultiHopTask:
    """The task of this id."""
    rng = random.Random(f"{SUITE}/{identity}")
    names = iter(rng.sample(NAMES, len(NAMES)))
    lengths = rng.choice(LENGTHS[world])
    relations = iter(rng.sample(RELATIONS, sum(lengths)))
    chains, links = [], []
    for length in lengths:
        along = [next(relations) for _ in range(length)]
        path = [next(names) for _ in range(length + 1)]
        chains.append(Chain(path[0], tuple(along)))
        links.append([Fact(*fact) for fact in zip(path, along, path[1:], strict=False)])
    facts = [fact for chain in links for fact in chain]
    decoys = _decoys(links, names) if world == "gated" else []
    others = _others(rng, facts, POOL - len(facts) - len(decoys), names)
    pieces = [*((fact, _entry(fact)) for fact in [*facts, *others]), *((fact, fact.text) for fact in decoys)]
    rng.shuffle(pieces)
    pool = tuple(
        Paragraph(uid_of(SUITE, identity, place, text), fact.subject, text)
        for place, (fact, text) in enumerate(pieces)
    )
    uids = {fact: one.uid for (fact, _), one in zip(pieces, pool, strict=True)}
    question = Question(SUITE, identity, " and ".join(chain.text for chain in chains) + " ?")
    return MultiHopTask(question, pool, _gold(identity, links, uids))


def _entry(fact: Fact) -> str:
    return f"{fact.subject} : {fact.text}"


def _decoys(links: Sequence[Sequence[Fact]], names: Iterator[str]) -> list[Fact]:
    """Two for each link after the first of its chain, which shadow it, see the module."""
    later = (fact for chain in links for fact in chain[1:])
    return [Fact(next(names), fact.relation, fact.value) for fact in later for _ in range(TOP_K)]


def _others(rng: random.Random, facts: Sequence[Fact], n: int, names: Iterator[str]) -> list[Fact]:
    """Facts beside the point: half of them about what the chains come across, in other relations."""
    used = {fact.relation for fact in facts}
    free = [relation for relation in RELATIONS if relation not in used]
    met = [name for fact in facts for name in (fact.subject, fact.value)]
    known = rng.sample([(name, relation) for name in sorted(set(met)) for relation in free], n // 2)
    known += [(next(names), rng.choice(RELATIONS)) for _ in range(n - len(known))]
    return [Fact(subject, relation, next(names)) for subject, relation in known]


def _gold(identity: str, links: Sequence[Sequence[Fact]], uids: dict[Fact, str]) -> Gold:
    needs: list[Need] = []
    edges: list[tuple[str, str]] = []
    for chain in links:
        for place, fact in enumerate(chain):
            name = f"s{len(needs) + 1}"
            subject = f"#{len(needs)}" if place else fact.subject
            text = f"who is the {fact.relation} of {subject} ?"
            needs.append(Need(name, text, (fact.value,), (uids[fact],)))
            if place:
                edges.append((f"s{len(needs) - 1}", name))
    ends = [chain[-1].value for chain in links]
    answers = dict.fromkeys((" and ".join(ends), " and ".join(reversed(ends))))
    last = needs[-1].id if len(links) == 1 else None
    return Gold(SUITE, identity, tuple(answers), NeedGraph(tuple(needs), tuple(edges)), identity, last)
