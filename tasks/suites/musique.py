"""MuSiQue (Trivedi et al., TACL 2022): a need is a step of the decomposition, its evidence one paragraph."""

import re

from tasks.need_graph import Need, NeedGraph
from tasks.suites.rows import records
from tasks.suites.task import GraphTask, Piece, Row, SkipRow, Suite, name_of, step_edges, text_of, texts_of


def parse(row: Row) -> GraphTask:
    """One row in the original format; unanswerable ones have no supports."""
    if row.get("answerable") is False:
        raise SkipRow("unanswerable")
    steps = records(row["question_decomposition"])
    if not steps:
        raise SkipRow("no decomposition")
    positions = {paragraph["idx"] for paragraph in records(row["paragraphs"])}
    needs = []
    for number, step in enumerate(steps, 1):  # by position: a step's own id names a single-hop question
        support = step["paragraph_support_idx"]
        if support is None:
            raise SkipRow("a step without a supporting paragraph")
        if support not in positions:
            raise SkipRow("a support that points nowhere")
        needs.append(Need(f"s{number}", text_of(step["question"]), (text_of(step["answer"]),), (support,)))
    name = name_of(row["id"])
    return GraphTask(
        id=name,
        question=text_of(row["question"]),
        answers=(text_of(row["answer"]), *texts_of(row.get("answer_aliases") or [])),
        graph=NeedGraph(tuple(needs), step_edges([need.text for need in needs])),
        kind=name.partition("__")[0],
        template=template(name),
        answer_need=needs[-1].id,
    )


def template(name: str) -> str:
    """Structure and *sorted* single-hop ids of a task's id: the same for its re-ordered paraphrases."""
    kind, _, hops = name.partition("__")
    return f"{kind}__{'_'.join(sorted(hops.split('_')))}" if hops else name


def paragraphs(row: Row) -> list[Piece]:
    """A row's own, distractors among them."""
    return [
        (one["idx"], text_of(one["title"]), text_of(one["paragraph_text"]))
        for one in records(row["paragraphs"])
    ]


def single_hops(task: GraphTask) -> set[str]:
    """The steps' questions as they may stand in a list of single-hop questions: answers in place of `#n`."""
    answers = {f"#{number}": need.answers[0] for number, need in enumerate(task.graph.needs, 1)}
    return {
        folded(re.sub(r"#\d+", lambda found: answers.get(found[0], found[0]), need.text))
        for need in task.graph.needs
    }


def folded(question: str) -> str:
    """A question as it is compared: case, spaces and the mark at its end do not matter."""
    return " ".join(question.casefold().split()).rstrip(" ?")


MUSIQUE = Suite("musique", "MuSiQue", parse, top_k=5, word_cap=30, paragraphs=paragraphs)
