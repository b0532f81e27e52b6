"""MuSiQue (Trivedi et al., TACL 2022): a need is a step of the decomposition, its evidence one paragraph."""

from collections.abc import Mapping
from typing import Any

from tasks.need_graph import Need, NeedGraph
from tasks.suites.task import GraphTask, SkipRow, Suite, step_edges, texts_of


def parse(row: Mapping[str, Any]) -> GraphTask:
    """One row in the original format; unanswerable ones have no supports."""
    if row.get("answerable") is False:
        raise SkipRow("unanswerable")
    steps = row["question_decomposition"]
    if not steps:
        raise SkipRow("no decomposition")
    positions = {paragraph["idx"] for paragraph in row["paragraphs"]}
    needs = []
    for number, step in enumerate(steps, 1):  # by position: a step's own id names a single-hop question
        support = step["paragraph_support_idx"]
        if support is None:
            raise SkipRow("a step without a supporting paragraph")
        if support not in positions:
            raise SkipRow("a support that points nowhere")
        needs.append(Need(f"s{number}", str(step["question"]), (str(step["answer"]),), (int(support),)))
    return GraphTask(
        id=str(row["id"]),
        question=str(row["question"]),
        answers=(str(row["answer"]), *texts_of(row.get("answer_aliases") or [])),
        graph=NeedGraph(tuple(needs), step_edges([need.text for need in needs])),
        kind=str(row["id"]).partition("__")[0],
    )


MUSIQUE = Suite("MuSiQue", parse)
