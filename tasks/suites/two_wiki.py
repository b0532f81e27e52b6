"""2WikiMultiHopQA (Ho et al., COLING 2020): a need is an evidence triple, found by its subject."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.need_graph import Need, NeedGraph
from tasks.suites.task import GraphTask, SkipRow, Suite

CHAINED = ("compositional", "inference", "bridge_comparison")
"""Kinds of question whose triples build on one another; the triples of a comparison stand side by side."""


def parse(row: Mapping[str, Any]) -> GraphTask:
    """One row in the original format, or of the hub's parquet copy, where lists are JSON text."""
    context, facts, triples = (_listed(row[key]) for key in ("context", "supporting_facts", "evidences"))
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
    return GraphTask(
        str(row["_id"]),
        str(row["question"]),
        (str(row["answer"]),),
        NeedGraph(tuple(needs), edges),
        str(row["type"]),
    )


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


def _listed(value: object) -> list[Any]:
    found = json.loads(value) if isinstance(value, str) else value
    if not isinstance(found, list):
        raise TypeError(f"a list was expected, not {type(value).__name__}")
    return found


TWO_WIKI = Suite("2WikiMultiHopQA", parse)
