"""FRAMES (Krishna et al., 2024): questions and answers alone, without annotation; for evaluation only."""

from tasks.need_graph import NeedGraph
from tasks.suites.task import GraphTask, Row, SkipRow, Suite, name_of, text_of


def parse(row: Row) -> GraphTask:
    """One row of the table, or of a copy that names its columns `id` and `Question`."""
    name = row["id"] if "id" in row else row["Unnamed: 0"]
    question = text_of(row["Prompt"] if "Prompt" in row else row["Question"]).strip()
    answer = text_of(row["Answer"]).strip()
    if not question or not answer:
        raise SkipRow("no question or no answer")
    return GraphTask(
        name_of(name), question, (answer,), NeedGraph((), ()), str(row.get("reasoning_types", ""))
    )


FRAMES = Suite("frames", "FRAMES", parse, top_k=5, word_cap=60, has_graphs=False)
