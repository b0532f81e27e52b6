"""2WikiMultiHopQA (Ho et al., COLING 2020): a need is an evidence triple, found by its subject."""

import re
from collections.abc import Sequence
from pathlib import Path

from tasks.errors import InputError
from tasks.json_lines import read_rows
from tasks.need_graph import Need, NeedGraph
from tasks.suites.rows import listed
from tasks.suites.task import GraphTask, Piece, Row, SkipRow, Suite, name_of, text_of, texts_of

CHAINED = ("compositional", "inference", "bridge_comparison")
"""Kinds of question whose triples build on one another; the triples of a comparison stand side by side."""


def parse(row: Row) -> GraphTask:
    """One row in the original format, or of the hub's parquet copy, where lists are JSON text."""
    context, facts, triples = (listed(row[key]) for key in ("context", "supporting_facts", "evidences"))
    if not triples:
        raise SkipRow("no evidence triples")
    titles = [str(title) for title, _ in context]
    supporting = {str(title) for title, _ in facts}
    needs = []
    for number, (subject, relation, answer) in enumerate(triples, 1):
        found = paragraph_of(str(subject), titles, supporting)
        needs.append(
            Need(f"e{number}", f"{subject}: {relation}", (str(answer),), () if found is None else (found,))
        )
    edges = tuple(
        (f"e{i}", f"e{j}")
        for j, (subject, _, _) in enumerate(triples, 1)
        for i, (_, _, answer) in enumerate(triples[: j - 1], 1)
        if row["type"] in CHAINED and key(str(answer)) == key(str(subject))
    )
    answer = text_of(row["answer"])
    return GraphTask(
        id=name_of(row["_id"] if "_id" in row else row["id"]),
        question=text_of(row["question"]),
        answers=(answer,),
        graph=NeedGraph(tuple(needs), edges),
        kind=str(row["type"]),
        answer_need=next(
            (need.id for need in needs[::-1] if need.required and key(need.answers[0]) == key(answer)), None
        ),
    )


def paragraphs(row: Row) -> list[Piece]:
    """A row's context, the sentences of each paragraph joined."""
    return [
        (place, text_of(title), " ".join(sentence.strip() for sentence in texts_of(sentences)))
        for place, (title, sentences) in enumerate(listed(row["context"]))
    ]


def read_aliases(path: Path) -> dict[str, tuple[str, ...]]:
    """The other names of each answer by its Wikidata id, from the data set's own file of them.

    Raises InputError naming file and row.
    """
    found = {}
    for number, row in read_rows(path):
        try:
            found[text_of(row["Q_id"])] = (*texts_of(row["aliases"]), *texts_of(row.get("demonyms") or []))
        except (KeyError, TypeError) as error:
            cause = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{path}, row {number}: not a row of aliases ({cause})") from None
    return found


def key(name: str) -> str:
    """A name as it is compared: lower case, without a "(…)" at its end, letters and digits alone.

    One without Latin letters is compared as it is, case-folded; it must not become an empty key.
    """
    bare = re.sub(r"\s*\([^()]*\)\s*$", "", name.lower())
    return re.sub(r"[^a-z0-9]+", " ", bare).strip() or name.casefold().strip()


def paragraph_of(subject: str, titles: Sequence[str], supporting: frozenset[str] | set[str]) -> int | None:
    """The paragraph about a subject: by an equal title before one that holds it or is held by it.

    Of several, those named in the supporting facts come first, then the lowest position.
    """
    wanted = key(subject)
    keys = [key(title) for title in titles]
    equal = [i for i, found in enumerate(keys) if found == wanted]
    near = [i for i, found in enumerate(keys) if found and wanted and (found in wanted or wanted in found)]
    candidates = equal or near
    return min(candidates, key=lambda i: (titles[i] not in supporting, i)) if candidates else None


TWO_WIKI = Suite("2wiki", "2WikiMultiHopQA", parse, top_k=3, word_cap=30, paragraphs=paragraphs)
