"""What an episode of a suite is played with: a task's pool of paragraphs, its graph's evidence by uid."""

from collections.abc import Sequence
from dataclasses import replace

from tasks.multi_hop import Gold, MultiHopTask, Paragraph, Question, uid_of
from tasks.need_graph import NeedGraph, Uid
from tasks.suites.task import GraphTask, Piece, SkipRow, Suite

MISSING = "a paragraph that is missing"


def with_pool(suite: Suite, task: GraphTask, pieces: Sequence[Piece]) -> MultiHopTask:
    """The task with these paragraphs, of which one that repeats title and text of another is dropped.

    (Its name in the annotation then leads to the other: which of two equal ones is fetched says nothing.)
    Raises SkipRow where evidence is not among them, ValueError for two paragraphs of one name.
    """
    uids: dict[Uid, str] = {}
    pool: dict[tuple[str, str], Paragraph] = {}
    for index, (name, title, text) in enumerate(pieces):
        if name in uids:
            raise ValueError(f"two paragraphs are called {name!r}")
        paragraph = Paragraph(uid_of(suite.key, task.id, index, text), title, text)
        uids[name] = pool.setdefault((title, text), paragraph).uid
    graph = with_evidence(task.graph, uids)
    gold = Gold(suite.key, task.id, task.answers, graph, task.template or task.id, task.answer_need)
    return MultiHopTask(Question(suite.key, task.id, task.question), tuple(pool.values()), gold)


def with_evidence(graph: NeedGraph, uids: dict[Uid, str]) -> NeedGraph:
    """The graph, its evidence by uid. Raises SkipRow for evidence that has none."""
    if not all(name in uids for need in graph.needs for name in need.evidence):
        raise SkipRow(MISSING)
    needs = (
        replace(need, evidence=tuple(dict.fromkeys(uids[name] for name in need.evidence)))
        for need in graph.needs
    )
    return NeedGraph(tuple(needs), graph.edges)
