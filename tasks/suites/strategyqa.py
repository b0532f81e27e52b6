"""StrategyQA (Geva et al., TACL 2021): a need is a step; steps that are mere operations are optional."""

from collections.abc import Sequence
from typing import Any

from tasks.need_graph import Need, NeedGraph
from tasks.suites.rows import listed
from tasks.suites.task import GraphTask, Row, SkipRow, Suite, name_of, step_edges, text_of, texts_of

_NO_PARAGRAPH = ("operation", "no_evidence")
"""Items that name none; a hub's copy, whose items must be of one type, holds them in lists of their own."""

ALIASES = {True: ("yes", "true"), False: ("no", "false")}


def parse(row: Row) -> GraphTask:
    """One row in the original format; without evidence for the last step no need has the task's answer."""
    steps = texts_of(row["decomposition"])
    if not steps:
        raise SkipRow("no decomposition")
    if not isinstance(row["answer"], bool):
        raise SkipRow("no answer")
    annotations = listed(row["evidence"])
    needs = tuple(
        Need(f"s{number}", text, (), evidence(annotations, number - 1))
        for number, text in enumerate(steps, 1)
    )
    return GraphTask(
        id=name_of(row["qid"]),
        question=text_of(row["question"]),
        answers=ALIASES[row["answer"]],
        graph=NeedGraph(needs, step_edges(steps)),
        answer_need=needs[-1].id if needs[-1].required else None,
    )


def evidence(annotations: Sequence[Any], step: int) -> tuple[str, ...]:
    """The first alternative of any annotator, in order, that is a list of paragraphs.

    Not their union: to resolve a need takes all of its paragraphs. Other items say `operation` or
    `no_evidence`.
    """
    for annotator in annotations:
        for item in annotator[step] if step < len(annotator) else []:
            if isinstance(item, list) and item and item[0] not in _NO_PARAGRAPH:
                return texts_of(item)
    return ()


STRATEGYQA = Suite("strategyqa", "StrategyQA", parse, top_k=2, word_cap=10)
