"""`askrl graphs SUITE FILE`: the need graphs of a data set, one JSON line a task, or their totals."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tasks.errors import InputError
from tasks.strict import closest
from tasks.suites import SUITES, GraphTask
from tasks.suites.corpus import Corpus
from tasks.suites.pool import MISSING


def run(suite: str, file: Path, paragraphs: Path | None = None, summary: bool = False) -> None:
    """Print the graphs, or one JSON object of totals. What was left out is told on stderr, by reason.

    With `paragraphs` (StrategyQA's corpus) tasks whose evidence is not in it are left out.
    """
    if suite not in SUITES:
        raise InputError(f"unknown suite {suite!r}; {closest(suite, SUITES)}")
    if not SUITES[suite].has_graphs:
        raise InputError(f"{suite} has answers alone, no graphs: its rows come without a decomposition")
    if paragraphs is not None and suite != "strategyqa":
        raise InputError(f"--paragraphs is StrategyQA's corpus; rows of {suite} carry their own paragraphs")
    tasks, skipped = SUITES[suite].load(file)
    if paragraphs is not None:
        corpus = Corpus.read(paragraphs)
        whole = [task for task in tasks if corpus.holds(task)]
        missing, tasks = len(tasks) - len(whole), whole
        if missing:
            skipped[MISSING] += missing
    for told in [json.dumps(totals(tasks, skipped))] if summary else map(line, tasks):
        print(told)
    for reason, count in sorted(skipped.items()):
        print(f"left out: {count} rows ({reason})", file=sys.stderr)


def line(task: GraphTask) -> str:
    """One task's graph as JSON."""
    graph = task.graph
    needs = [
        {
            "id": need.id,
            "depth": graph.depths[need.id],
            "required": need.required,
            "evidence": list(need.evidence),
        }
        for need in graph.needs
    ]
    return json.dumps({"task": task.id, "needs": needs, "edges": [list(edge) for edge in graph.edges]})


def totals(tasks: Sequence[GraphTask], skipped: Counter[str]) -> dict[str, object]:
    """Counts over all tasks: needs, edges, optional needs, needs by depth, rows left out by reason."""
    depths = Counter(depth for task in tasks for depth in task.graph.depths.values())
    return {
        "tasks": len(tasks),
        "needs": sum(len(task.graph.needs) for task in tasks),
        "edges": sum(len(task.graph.edges) for task in tasks),
        "optional": sum(not need.required for task in tasks for need in task.graph.needs),
        "depths": {str(depth): depths[depth] for depth in sorted(depths)},
        "left_out": dict(sorted(skipped.items())),
    }
