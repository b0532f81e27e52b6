"""`askrl export`: forked states become training rows in TRL's formats, in one order for any shards.

Writes `imitation` and `pairs`, each as .jsonl and .parquet, and `summary.json`: how many of which kind, and
what each rule left out. The same records give the same bytes.
"""

import gc
import json
import multiprocessing
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rewards.consequence import Gate, Rules, Worth, decisions, pairs
from rewards.consequence import row as imitation_row
from rollout.forks import Fork
from rollout.graphs import Golds
from tasks import splits
from tasks.atomic import write_json
from tasks.errors import InputError
from tasks.move import spell
from tasks.plain import plain
from train import export_files, export_index, export_rows

if TYPE_CHECKING:
    import pyarrow

CHUNK = 256
"""States that a worker labels at once."""


@dataclass(frozen=True, slots=True)
class Config:
    """Fields of a `job: train.export` recipe."""

    records: Path | None
    """The run folder of a `rollout.fork` job; a recipe that ships cannot know it."""
    output_dir: Path
    graphs: Path | None = None
    """By default `graphs.jsonl` in the folder of the records."""
    rules: Rules = field(default_factory=Rules)
    worth: Worth = field(default_factory=Worth)
    repair: bool = False
    """Prefer an ask that resolves what the run passed over, whatever its margin (beyond the paper)."""
    sft_gate: Gate = "phi"
    """What of the best ask has to clear the threshold, for a row of imitation."""
    sft_threshold: float = 0.05
    split: Literal["train", "all"] = "train"
    """Which tasks give rows, by the split that recordings use; suites for evaluation never do."""
    workers: int = 2


@dataclass(slots=True)
class Labelled:
    """What a worker made of a chunk of states."""

    imitation: list[export_files.Waiting]
    pairs: bytes
    pairs_batch: "pyarrow.RecordBatch"
    kinds: Counter[str]
    dropped: Counter[str]
    origins: Counter[str]
    """States by what has to be the same for all of them."""


def run(config: Config) -> None:
    """Label all states and write the files. Raises InputError for mixed records and for nothing to export."""
    from tqdm import tqdm

    if config.records is None:
        raise InputError("records is not given; name the run folder of a rollout.fork job: records=runs/...")
    states = export_index.index(config.records)
    kinds: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    origins: Counter[str] = Counter()
    with (
        export_files.Pairs(config.output_dir) as pairs_file,
        export_files.Imitation(config.output_dir) as imitation_file,
        tqdm(total=len(states), desc="export", unit="state", disable=None) as bar,
    ):
        for chunk in _labelled(config, config.records, states):
            origins.update(chunk.origins)
            if len(origins) > 1:
                raise InputError(_mixed(config.records, origins))
            kinds.update(chunk.kinds)
            dropped.update(chunk.dropped)
            pairs_file.add(chunk.pairs, chunk.pairs_batch)
            dropped["same state and target"] += imitation_file.add(chunk.imitation)
            bar.update(min(CHUNK, bar.total - bar.n))
        kinds.update(imitation_file.kinds)
        if not kinds:
            left = ", ".join(f"{number} {why}" for why, number in dropped.most_common()) or "no states"
            raise InputError(f"{config.records}: no state gives a row ({left}); record and fork more tasks")
    summary = {"states": len(states), "rows": _sorted(kinds), "left_out": _sorted(dropped)}
    write_json(config.output_dir / "summary.json", {**summary, "settings": plain(config)})
    print(f"{config.output_dir}: {json.dumps(summary)}")


def _labelled(config: Config, records: Path, states: export_index.Index) -> Iterator[Labelled]:
    """The chunks in order, a few ahead of whoever writes them."""
    starts = range(0, len(states), CHUNK)
    context = multiprocessing.get_context("spawn")
    with context.Pool(config.workers, _start_worker, (config, records, states)) as pool:
        ahead: deque[Any] = deque()
        for start in starts:
            ahead.append(pool.apply_async(_label, (start,)))
            if len(ahead) > 2 * config.workers:
                yield ahead.popleft().get()
        while ahead:
            yield ahead.popleft().get()


def lineage(fork: Fork) -> tuple[str, str, str, str, int, int]:
    """Where the rows of a state come from."""
    return fork.suite, fork.task, fork.state, fork.policy, fork.seed, fork.turn


_worker: "tuple[Config, export_index.Index, Golds]"


def _start_worker(config: Config, records: Path, states: export_index.Index) -> None:
    global _worker
    gc.disable()  # there are no cycles, and millions of small objects to look through
    _worker = config, states, Golds.of(records, config.graphs)


def _label(start: int) -> Labelled:
    config, states, golds = _worker
    imitation: list[export_files.Waiting] = []
    preferred = export_rows.Rows("pairs")
    kinds: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    origins: Counter[str] = Counter()
    last: object = None
    origin = ""
    for where, line in states.lines(start, start + CHUNK):
        fork = Fork.from_line(line, where)
        gold = golds.of_task(fork.suite, fork.task, where)
        splits.refuse(fork.suite, "train")
        if config.split == "train" and splits.split_of(fork.suite, gold.cluster) != "train":
            dropped["not of the train split"] += 1
            continue
        if (fork.policy, fork.pins, fork.limits) != last:  # nearly always the same
            last = fork.policy, fork.pins, fork.limits
            origin = json.dumps([fork.policy, fork.pins, plain(fork.limits)])
        origins[origin] += 1
        found = decisions(fork, gold, config.worth, config.repair)
        row = imitation_row(fork, found, gold, config.sft_gate, config.sft_threshold, dropped)
        if row is not None:
            imitation.append(export_files.Waiting(fork.prompt, row.target, row.id, row.kind, lineage(fork)))
        if kept := pairs(fork, found, gold, config.rules, dropped):
            add = preferred.of_state(fork.prompt, lineage(fork))
            for pair in kept:
                kinds[f"{pair.kind} ({pair.reason})"] += 1
                said = (spell(pair.chosen.move), spell(pair.rejected.move))
                add(said, pair.id, pair.kind, pair.reason, 1.0)
    lines = "".join(preferred.lines).encode()
    return Labelled(imitation, lines, preferred.batch(), kinds, dropped, origins)


def _mixed(records: Path, origins: Counter[str]) -> str:
    (one, first), (other, second) = origins.most_common(2)
    names = ("policy", "pins", "limits")
    differ = [
        f"{name} {json.dumps(a)} and {json.dumps(b)}"
        for name, a, b in zip(names, json.loads(one), json.loads(other), strict=True)
        if a != b
    ]
    return (
        f"{records}: states that cannot be compared, {first} and {second}: {'; '.join(differ)}; "
        "export each in a folder of its own"
    )


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in sorted(counts) if counts[name]}
