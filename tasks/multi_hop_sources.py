"""From a recipe's `task:` section to multi-hop tasks with pools: a suite of ours, or a module with `load`.

task: {use: musique, file: musique_ans_dev.jsonl, split: test, limit: 200}
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from tasks import sources, splits
from tasks.errors import InputError
from tasks.multi_hop import MultiHopSet, MultiHopTask
from tasks.strict import build
from tasks.suites import SUITES, Suite
from tasks.suites.corpus import Corpus
from tasks.suites.musique import folded, single_hops
from tasks.suites.pool import with_pool
from tasks.suites.rows import read, whole
from tasks.suites.task import GraphTask, Row, SkipRow
from tasks.suites.two_wiki import read_aliases

MINI, COMPOSED = "mini_hops", "composed"
USES = (*SUITES, MINI, COMPOSED)
"""What `use` may name, beside a module of the user's own."""


@dataclass(frozen=True, slots=True)
class Config:
    """Keys of a `task:` section for a suite of ours: its rows in a file or on the hub, and which of them."""

    split: Literal["train", "dev", "test", "all"]
    """By the hash of `tasks.splits`, whatever the file's own name is; all: without a split."""
    file: Path | None = None
    hub: str | None = None
    """owner/name of a data set, or a folder of its files."""
    config: str | None = None
    """Of the hub's data set."""
    hub_split: str | None = None
    """Which of the hub's splits holds the rows."""
    revision: str | None = None
    """Commit, branch or tag of the hub's data set."""
    paragraphs: Path | None = None
    """StrategyQA's paragraphs; for FRAMES a corpus that is searched."""
    aliases: Path | None = None
    """2Wiki's file of answer aliases."""
    drop_list: Path | None = None
    """JSON with single-hop questions: MuSiQue rows with one of them among their steps are left out."""
    limit: int | None = None
    """So many tasks, in turn from each kind (the files are sorted by kind)."""

    def __post_init__(self) -> None:
        if (self.file is None) == (self.hub is None):
            raise InputError("give file or hub, one of them")
        if self.hub is not None and self.hub_split is None:
            raise InputError("hub needs hub_split, the name of the split that holds the rows")
        if self.hub is None and (self.config or self.hub_split or self.revision):
            raise InputError("config, hub_split and revision belong to hub; give hub, or leave them out")
        if self.limit is not None and self.limit < 1:
            raise InputError(f"limit is {self.limit}; use at least 1 task, or leave it out for all")


_OWN_KEYS = {"paragraphs": ("strategyqa", "frames"), "aliases": ("2wiki",), "drop_list": ("musique",)}


def config_class(use: object, where: str = "task") -> type:
    """The dataclass of a section's keys. Raises InputError, naming the closest of ours, for no such task."""
    found: type = Config if isinstance(use, str) and use in SUITES else _module(use, where).Config
    return found


def config_of(section: Mapping[str, Any], where: str = "task") -> Any:
    """The section's keys, checked; files are not opened. Raises InputError."""
    use = section.get("use")
    options = {key: value for key, value in section.items() if key != "use"}
    config: Any = build(config_class(use, where), options, where)
    if isinstance(config, Config):
        for key, suites in _OWN_KEYS.items():
            if getattr(config, key) is not None and use not in suites:
                raise InputError(f"{where}: key {key!r} belongs to {' and '.join(suites)}, not to {use}")
        if use == "strategyqa" and config.paragraphs is None:
            raise InputError(f"{where}: missing key 'paragraphs': StrategyQA's rows hold none; add the file")
        splits.refuse(str(use), config.split)
    return config


def load(section: Mapping[str, Any], seed: int) -> MultiHopSet:
    """The tasks that a section describes. `seed` is of what a suite draws: distractors, made-up worlds.

    Raises InputError for a bad section, file or row, and where no task is left.
    """
    config, use = config_of(section), section.get("use")
    if isinstance(config, Config):
        found = _load(SUITES[str(use)], config, seed)
    else:
        found = _module(use, "task").load(config, seed)
        if not isinstance(found, MultiHopSet):
            raise InputError(f"task: {use}: load gave {type(found).__name__}, not a MultiHopSet")
    if not found.tasks:
        raise InputError(f"task: {use}: no task is left ({_told(found.left_out)})")
    return found


def top_k(suite: str) -> int:
    """Paragraphs that a question fetches at most; in suites of a user's own as many as in MuSiQue."""
    if _single(suite) == MINI:
        return int(_module(MINI, "task").TOP_K)
    return SUITES.get(_single(suite), SUITES["musique"]).top_k


def word_cap(suite: str) -> int:
    """Words that a final answer may have; in suites of a user's own as many as in MuSiQue."""
    if _single(suite) == MINI:
        return int(_module(MINI, "task").WORD_CAP)
    return SUITES.get(_single(suite), SUITES["musique"]).word_cap


def _single(suite: str) -> str:
    """The suite that a composed one is made of; any other as it is."""
    return suite.removeprefix(f"{COMPOSED}_")


def _module(use: object, where: str) -> ModuleType:
    if use in sources.OURS:
        raise InputError(f"{where}: use is {use!r}, a task of tool calls; multi-hop ones: {', '.join(USES)}")
    return sources.module(use, where, USES)


def _load(suite: Suite, config: Config, seed: int) -> MultiHopSet:
    hashes = {
        key: _digest(path)
        for key in ("file", "paragraphs", "aliases", "drop_list")
        if (path := getattr(config, key)) is not None
    }
    skipped: Counter[str] = Counter()
    rows, source, hub_digest = _rows(config)
    finish = _finisher(suite, config, seed, skipped)

    def use(task: GraphTask, row: Row) -> MultiHopTask | None:
        template = task.template or task.id
        wanted = config.split in ("all", splits.split_of(suite.key, template))
        return finish(task, row) if wanted else None

    kinds: dict[str, list[MultiHopTask]] = {}
    for task, found in suite.each(rows, source, skipped, use):
        of_kind = kinds.setdefault(task.kind, [])
        if found is not None and (config.limit is None or len(of_kind) < config.limit):
            of_kind.append(found)
    if hub_digest is not None:
        hashes["hub"] = hub_digest.hexdigest()
    return MultiHopSet(tuple(_in_turn(kinds))[: config.limit], dict(sorted(skipped.items())), hashes)


def _finisher(
    suite: Suite, config: Config, seed: int, skipped: Counter[str]
) -> Callable[[GraphTask, Row], MultiHopTask]:
    """What makes a task of a row; raises SkipRow for a row that is left out."""
    aliases = read_aliases(config.aliases) if config.aliases else {}
    dropped = _questions(config.drop_list) if config.drop_list else frozenset()
    corpus = Corpus.read(config.paragraphs) if config.paragraphs else None
    if corpus is not None and corpus.repeated:
        skipped["a paragraph whose name an earlier one has"] = corpus.repeated
    shared = corpus.all(suite.key) if corpus is not None and not suite.has_graphs else ()

    def finish(task: GraphTask, row: Row) -> MultiHopTask:
        if dropped and not dropped.isdisjoint(single_hops(task)):
            raise SkipRow("a step of the drop list")
        others = aliases.get(str(row.get("answer_id")), ())
        task = replace(task, answers=tuple(dict.fromkeys((*task.answers, *others))))
        if not suite.has_graphs:
            return replace(with_pool(suite, task, []), pool=shared)
        if suite.paragraphs is not None:
            return with_pool(suite, task, suite.paragraphs(row))
        assert corpus is not None  # `config_of` wants the file
        return with_pool(suite, task, corpus.pool(task, seed))

    return finish


def _in_turn(kinds: Mapping[str, list[MultiHopTask]]) -> Iterator[MultiHopTask]:
    """The first of each kind, then the second, …: any part of a recording has its share of each."""
    for place in range(max(map(len, kinds.values()), default=0)):
        for kind in sorted(kinds):
            yield from kinds[kind][place : place + 1]


def _rows(config: Config) -> tuple[Iterable[tuple[int, Row]], str, Any]:
    """Numbered rows, their source's name, and for the hub a digest that is complete once they are read."""
    if config.file is not None:
        return read(config.file), str(config.file), None
    from datasets import load_dataset

    source = f"{config.hub}, {config.hub_split}"
    try:
        data = load_dataset(str(config.hub), config.config, split=config.hub_split, revision=config.revision)
    except Exception as error:  # the hub client raises a dozen unrelated types, all meaning "not to be had"
        cause = f"{type(error).__name__}: {str(error).split(chr(10))[0][:160]}"
        raise InputError(
            f"{source}: cannot be loaded from the hub ({cause}); give a local file as task.file"
        ) from None
    digest = hashlib.sha256()

    def rows() -> Iterator[tuple[int, Row]]:
        for number, row in enumerate(data, 1):
            kept = {key: value for key, value in row.items() if value is not None}
            digest.update(json.dumps(kept, sort_keys=True, default=str).encode())
            yield number, kept

    return rows(), source, digest


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path") from None


def _questions(path: Path) -> frozenset[str]:
    """Every text that a JSON file holds, however deep."""
    todo, found = [whole(path)], set()
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            found.add(folded(value))
        elif isinstance(value, dict | list):
            todo += value.values() if isinstance(value, dict) else value
    return frozenset(found)


def _told(left_out: Mapping[str, int]) -> str:
    return ", ".join(f"{count} rows: {reason}" for reason, count in left_out.items()) or "none was read"
