"""When2Call's multiple-choice protocol (arXiv 2504.18851): which of a row's four answers is likeliest.

Each answer is scored verbatim as a continuation of the prompt, 0-shot, with nothing between them. The numbers
are those of lm-evaluation-harness 0.4.13 on the same prompts; `rollout.generators.likelihood` says why they
come faster.
"""

import asyncio
import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval import metrics
from eval.choice_prompt import Variant, answers, encode, prompt
from eval.metrics import show
from rollout import generators
from rollout.generators import Generator, checkpoint
from rollout.ledger import Ledger, is_first_rank, key
from tasks import sources
from tasks.atomic import write_json, write_text
from tasks.completion import ACTIONS
from tasks.errors import InputError
from tasks.plain import plain
from tasks.tool_task import ToolTask

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class Config:
    """Fields of a `job: eval.multiple_choice` recipe."""

    model: str
    """A folder (a model, or an adapter that names its base) or a hub name."""
    task: Mapping[str, Any]
    output_dir: Path
    variant: Variant = "qwen"
    adapter: Path | None = None
    generator: generators.Config = field(default_factory=lambda: generators.Transformers(batch_size=4))
    """What scores; `batch_size` of the transformers kind is in rows, four answers each."""
    limit: int | None = None
    """Use this many rows, evenly spaced over the test split."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise InputError(f"limit is {self.limit}; use at least 1 row, or leave it out for all")


@dataclass(frozen=True, slots=True)
class Choices:
    """One row's answers in the row's own order, with their log-likelihoods."""

    id: str
    gold: str
    tools: int
    labels: tuple[str, ...]
    bytes: tuple[int, ...]
    """Lengths of the answers in UTF-8."""
    characters: tuple[int, ...]
    scores: tuple[float, ...]

    def picked(self, lengths: Sequence[int] | None = None) -> str:
        """The likeliest answer's class, after division by `lengths` if given; of equals the first."""
        values = (
            self.scores if lengths is None else [s / n for s, n in zip(self.scores, lengths, strict=True)]
        )
        return self.labels[max(range(len(values)), key=lambda i: (values[i], -i))]


def run(config: Config) -> None:
    """Evaluate; write results.json, results.md and samples.jsonl to `output_dir`. Resumable for each row."""
    if not is_first_rank():
        return
    tasks = sources.spread(sources.load(config.task, "test", config.seed), config.limit)
    for task in tasks.tasks:
        answers(task)  # refuses a row before a model is loaded
    generator, tokenizer = generators.build(config.generator, config.model, config.adapter)
    try:
        rows = evaluate(
            generator, tokenizer, tasks.tasks, config.variant, progress=True,
            ledger=Ledger(config.output_dir / "likelihoods.jsonl"),
            identity=checkpoint.identity(config.generator, config.model, config.adapter),
        )  # fmt: skip
    finally:
        generator.close()
    found = readings(rows)
    data = {"counts": tasks.counts, "hashes": tasks.hashes}
    results = {"settings": plain(config), "data": data, "report": found}
    write_json(config.output_dir / "results.json", results)
    write_text(config.output_dir / "results.md", markdown(found))
    lines = (json.dumps(dataclasses.asdict(row)) for row in rows)
    write_text(config.output_dir / "samples.jsonl", "".join(f"{line}\n" for line in lines))
    print(markdown(found))


def evaluate(
    generator: Generator,
    tokenizer: "PreTrainedTokenizerBase",
    tasks: Sequence[ToolTask],
    variant: Variant = "qwen",
    *,
    progress: bool = False,
    ledger: Ledger | None = None,
    identity: str = "",
) -> list[Choices]:
    """Score the four answers of every task, in order; rows that are in the `ledger` are not scored again."""
    from tqdm import tqdm

    items = [encode(tokenizer, prompt(task, variant), list(answers(task).values())) for task in tasks]
    keys = [key(identity, item.context, item.continuations) for item in items]
    found: dict[int, list[float]] = {}
    for i, name in enumerate(keys):
        kept = ledger.get(name) if ledger else None
        if kept is not None:
            found[i] = kept["scores"]
    todo = [i for i in range(len(items)) if i not in found]
    with tqdm(
        total=len(items), initial=len(found), desc="choices", unit="row", disable=None if progress else True
    ) as bar:

        def done(place: int, logprobs: list[tuple[float, ...]]) -> None:
            scores = [sum(of_one) for of_one in logprobs]
            found[todo[place]] = scores
            if ledger is not None:
                ledger.add(keys[todo[place]], {"scores": scores})
            bar.update()

        asyncio.run(generator.score([items[i] for i in todo], done))
    return [_choices(task, found[i]) for i, task in enumerate(tasks)]


def _choices(task: ToolTask, scores: Sequence[float]) -> Choices:
    labels, texts = zip(*answers(task).items(), strict=True)
    return Choices(
        id=task.id, gold=task.gold, tools=len(task.tools), labels=labels,
        bytes=tuple(len(text.encode("utf-8")) for text in texts), characters=tuple(map(len, texts)),
        scores=tuple(scores),
    )  # fmt: skip


def readings(rows: Sequence[Choices]) -> dict[str, Any]:
    """The protocol's numbers as JSON values.

    `acc_norm` divides by bytes, as the published accuracy does. lm-evaluation-harness calls that `acc_bytes`;
    its own `acc_norm` divides by characters (`acc_norm_characters` here), the same where answers are ASCII.
    `macro_f1` is over four labels although `direct` is never gold, so its ceiling is 0.75. Tool
    hallucination: share of `tool_call` on refusal rows that offer no tool.
    """
    gold = [row.gold for row in rows]
    bare = [row.gold == "cannot_answer" and not row.tools for row in rows]
    found: dict[str, Any] = {"n": len(rows), "no_tool_rows": sum(bare), "labels": list(ACTIONS)}
    picks = {"": [row.picked() for row in rows], "_norm": [row.picked(row.bytes) for row in rows]}
    for suffix, picked in picks.items():
        calls = [label == "tool_call" for label, none in zip(picked, bare, strict=True) if none]
        found[f"acc{suffix}"] = metrics.accuracy(gold, picked)
        found[f"macro_f1{suffix}"] = metrics.macro_f1(gold, picked, ACTIONS)
        found[f"tool_hallucination{suffix}"] = metrics.rate(calls)
        found[f"confusion{suffix}"] = metrics.confusion(gold, picked, ACTIONS)
    found["acc_norm_characters"] = metrics.accuracy(gold, [row.picked(row.characters) for row in rows])
    return found


def markdown(found: Mapping[str, Any]) -> str:
    """The readings as a table for a person."""
    lines = ["| n | reading | likeliest | likeliest per byte |", "|---:|---|---:|---:|"]
    for name in ("acc", "macro_f1", "tool_hallucination"):
        n = found["no_tool_rows"] if name == "tool_hallucination" else found["n"]
        lines.append(f"| {n} | {name} | {show(found[name])} | {show(found[f'{name}_norm'])} |")
    return "\n".join(lines) + "\n"
