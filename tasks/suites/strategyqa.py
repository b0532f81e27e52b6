"""StrategyQA (Geva et al., TACL 2021): a need is a step; steps that are mere operations are optional."""

from collections.abc import Mapping, Sequence
from typing import Any

from tasks.need_graph import Need, NeedGraph
from tasks.suites.task import GraphTask, SkipRow, Suite, step_edges, texts_of

ALIASES = {True: ("yes", "true"), False: ("no", "false")}


def parse(row: Mapping[str, Any]) -> GraphTask:
    """One row in the original format."""
    steps = texts_of(row["decomposition"])
    if not steps:
        raise SkipRow("no decomposition")
    if not isinstance(row["answer"], bool):
        raise SkipRow("no answer")
    needs = tuple(
        Need(f"s{number}", text, (), evidence(row["evidence"], number - 1))
        for number, text in enumerate(steps, 1)
    )
    return GraphTask(
        str(row["qid"]), str(row["question"]), ALIASES[row["answer"]], NeedGraph(needs, step_edges(steps))
    )


def evidence(annotations: Sequence[Any], step: int) -> tuple[str, ...]:
    """The first alternative of any annotator, in order, that is a list of paragraphs.

    Not their union: to resolve a need takes all of its paragraphs. Other items say `operation` or
    `no_evidence`.
    """
    for annotator in annotations:
        for item in annotator[step] if step < len(annotator) else []:
            if isinstance(item, list) and item:
                return texts_of(item)
    return ()


STRATEGYQA = Suite("StrategyQA", parse)
