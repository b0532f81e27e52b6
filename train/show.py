"""`askrl show FILE`: one recorded episode as a transcript beside its graph."""

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from rollout.episode import Episode
from rollout.graphs import beside
from rollout.shards import read
from tasks.errors import InputError
from tasks.json_lines import read_rows
from tasks.multi_hop import Gold
from tasks.strict import closest

WIDTH = 100


def run(path: Path, task: str | None = None, seed: int | None = None, graphs: Path | None = None) -> None:
    """Print an episode of the records at `path`: the first, or the first of a task and seed.

    Its graph comes from `graphs.jsonl` in the run folder, where there is one.
    """
    episode = _find(path, task, seed)
    print("\n".join(transcript(episode, *_graph(graphs or beside(path), episode.task))))


def transcript(episode: Episode, gold: Gold | None, titles: Mapping[str, str], text: str) -> Iterator[str]:
    """The lines of an episode; without a graph only what the roles saw and said."""
    yield f"{episode.task} · {episode.suite} · {episode.policy} · seed {episode.seed}"
    if text:
        yield from _block("", text)
    if gold is not None:
        yield from ("", "needs")
        yield from _needs(episode, gold)
    yield from ("", *_block("draft", episode.draft.text))
    seen = set(episode.start)
    for number, turn in enumerate(episode.turns, 1):
        yield ""
        yield from _block(f"ask {number}", turn.question)
        if turn.rationale:
            yield from _block("  why", turn.rationale)
        for uid in turn.retrieved:
            yield f"  {'old' if uid in seen else 'new'}  {uid} {titles.get(uid, '')}{_serves(uid, gold)}"
        seen.update(turn.retrieved)
        yield from _block("  answer", turn.answer)
        yield from _block("  draft", turn.draft)
    yield ""
    yield from _block(episode.stop, episode.last)
    yield from _block("answer", episode.answer)
    if gold is not None:
        yield from _block("gold", " / ".join(gold.answers))
        covered = [gold.graph.coverage(episode.retrieved(asks)) for asks in range(len(episode.turns) + 1)]
        yield "coverage after each ask: " + " ".join("-" if c is None else f"{c:.2f}" for c in covered)
    yield f"tokens: {episode.spent.prompt} read, {episode.spent.new} written"


def _needs(episode: Episode, gold: Gold) -> Iterator[str]:
    graph = gold.graph
    for need in graph.needs:
        asks = range(len(episode.turns) + 1)
        turn = next((t for t in asks if need.id in graph.resolved(episode.retrieved(t))), None)
        state = f"after ask {turn}" if turn is not None else "never" if need.required else "optional"
        parents = f"  from {', '.join(graph.parents[need.id])}" if graph.parents[need.id] else ""
        yield f"  {need.id}  depth {graph.depths[need.id]}  {state:12}  {need.text}{parents}"


def _serves(uid: str, gold: Gold | None) -> str:
    needs = [need.id for need in gold.graph.needs if uid in need.evidence] if gold else []
    return f"  <- {', '.join(needs)}" if needs else ""


def _block(name: str, text: str) -> Iterator[str]:
    """A name and its text, wrapped; what a model wrote may hold any line breaks."""
    head = f"{name}: " if name else ""
    lines = textwrap.wrap(" ".join(text.split()), WIDTH - len(head)) or [""]
    yield head + lines[0]
    yield from (" " * len(head) + line for line in lines[1:])


def _find(path: Path, task: str | None, seed: int | None) -> Episode:
    names: dict[str, None] = {}
    for episode in read(path):
        names[episode.task] = None
        if task in (None, episode.task) and seed in (None, episode.seed):
            return episode
    if not names:
        raise InputError(f"{path}: no episode is recorded there yet")
    if task is not None and task not in names:
        mend = closest(task, names) if len(names) < 100 else f"{len(names)} other tasks are there"
        raise InputError(f"{path}: no episode of task {task!r}; {mend}")
    raise InputError(f"{path}: no episode of seed {seed}")


def _graph(graphs: Path | None, task: str) -> tuple[Gold | None, Mapping[str, str], str]:
    if graphs is not None:
        for number, row in read_rows(graphs):
            if row.get("task") == task:
                titles, text = row.get("titles"), row.get("question")
                gold = Gold.from_row(row, f"{graphs}, row {number}")
                return gold, titles if isinstance(titles, dict) else {}, str(text or "")
    return None, {}, ""
