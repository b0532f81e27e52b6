"""The rewards of a recipe as one thing: named columns, weights, and their weighted sum."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from rewards.resolve import resolve
from rewards.score import Score
from tasks.completion import Completion, parse
from tasks.errors import InputError
from tasks.strict import build as build_config
from tasks.tool_task import ToolTask


@dataclass(frozen=True, slots=True)
class RewardSpec:
    """One entry of a recipe's `rewards:` list; `options` are the keys of the reward's own `Config`."""

    use: str
    weight: float = 1.0
    warmup_steps: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not math.isfinite(self.weight):
            raise InputError(f"weight is {self.weight}; give a finite number")
        if self.warmup_steps < 0:
            raise InputError(f"warmup_steps is {self.warmup_steps}; give 0 or more optimizer steps")

    def factor(self, step: int) -> float:
        """Share of the weight that counts at an optimizer step: grows linearly from 0 over `warmup_steps`."""
        return min(1.0, step / self.warmup_steps) if self.warmup_steps else 1.0


@dataclass(frozen=True, slots=True)
class StackScore:
    """All rewards of one completion; `total` is the weighted sum of those that apply."""

    total: float
    columns: Mapping[str, Score]
    completion: Completion


@dataclass(frozen=True, slots=True)
class RewardStack:
    """Rewards in the recipe's order; `scorers` take (task, completion)."""

    specs: tuple[RewardSpec, ...]
    names: tuple[str, ...]
    scorers: tuple[Callable[[ToolTask, Completion], Score], ...]
    ranges: tuple[tuple[float, float], ...]

    @property
    def weights(self) -> tuple[float, ...]:
        """One weight per column."""
        return tuple(spec.weight for spec in self.specs)

    @property
    def range(self) -> tuple[float, float]:
        """Bounds of `total`; a column that does not apply counts as 0."""
        ends = [
            (min(0.0, spec.weight * low, spec.weight * high), max(0.0, spec.weight * low, spec.weight * high))
            for spec, (low, high) in zip(self.specs, self.ranges, strict=True)
        ]
        return sum(low for low, _ in ends), sum(high for _, high in ends)

    def score(self, task: ToolTask, text: str) -> StackScore:
        """Parse and score one completion at full weight. InputError when a reward raises or is no number."""
        return self.score_batch([task], [text])[0][0]

    def score_batch(
        self, tasks: Sequence[ToolTask], texts: Sequence[str]
    ) -> tuple[list[StackScore], dict[str, float]]:
        """Score completions with their tasks; also the seconds per completion of `parse` and each reward."""
        if len(tasks) != len(texts):
            raise ValueError(f"{len(tasks)} tasks for {len(texts)} completions")
        start = perf_counter()
        completions = [parse(text) for text in texts]
        ends = [perf_counter()]
        columns = []
        for scorer in self.scorers:
            columns.append([scorer(task, done) for task, done in zip(tasks, completions, strict=True)])
            ends.append(perf_counter())
        scores = [
            self._sum(completion, row)
            for completion, row in zip(completions, zip(*columns, strict=True), strict=True)
        ]
        count = max(1, len(texts))
        seconds = {
            name: (end - begin) / count
            for name, begin, end in zip(("parse", *self.names), [start, *ends], ends, strict=False)
        }
        return scores, seconds

    def _sum(self, completion: Completion, row: tuple[Score, ...]) -> StackScore:
        total = 0.0
        for spec, score in zip(self.specs, row, strict=True):
            if score.value is not None:
                total += spec.weight * score.value
        if not math.isfinite(total):
            bad = [name for name, score in zip(self.names, row, strict=True) if not _is_finite(score.value)]
            what = f"reward {', '.join(bad)}" if bad else "the weighted sum of the rewards"
            raise InputError(f"{what} is not a finite number; mend the reward, or its weight")
        return StackScore(total, dict(zip(self.names, row, strict=True)), completion)


def _is_finite(value: float | None) -> bool:
    return value is None or math.isfinite(value)


def build(specs: Sequence[RewardSpec | Mapping[str, Any]], where: str = "rewards") -> RewardStack:
    """Resolve the entries of a recipe's `rewards:` list.

    Raises InputError (opening with `where`) for an empty list, an unknown reward (naming the closest one), an
    unknown or mistyped option, and two rewards that stand for the same thing, such as `action_class` beside
    `certainty`.
    """
    if isinstance(specs, str | Mapping) or not isinstance(specs, Sequence) or not specs:
        raise InputError(f"{where}: give a list of at least one reward, such as [{{use: action_class}}]")
    read = [_read(spec, f"{where}[{i}]") for i, spec in enumerate(specs)]
    names = _names([spec.use for spec in read])
    found = [resolve(spec.use, spec.options, f"{where}[{i}]") for i, spec in enumerate(read)]
    owners = dict(zip(names, names, strict=True))
    for name, reward in zip(names, found, strict=True):
        for replaced in reward.replaces:
            if replaced in owners:
                rival = "" if owners[replaced] == replaced else f", and so does {owners[replaced]}"
                raise InputError(f"{where}: {name} stands in place of {replaced}{rival}; name only one")
        owners |= dict.fromkeys(reward.replaces, name)
    return RewardStack(
        tuple(read), names, tuple(reward.scorer for reward in found), tuple(reward.range for reward in found)
    )


def _read(entry: RewardSpec | Mapping[str, Any], where: str) -> RewardSpec:
    if isinstance(entry, RewardSpec):
        return entry
    if not isinstance(entry, Mapping) or not isinstance(entry.get("use"), str):
        raise InputError(f"{where} is {str(entry)[:60]!r}; name a reward, such as use: action_class")
    own = {key: entry[key] for key in ("use", "weight", "warmup_steps") if key in entry}
    options = {key: value for key, value in entry.items() if key not in own}
    return build_config(RewardSpec, {**own, "options": options}, where)


def _names(uses: Sequence[str]) -> tuple[str, ...]:
    """The last part of each `use`, numbered where it comes up again."""
    names: list[str] = []
    for use in uses:
        name = use.rpartition(".")[2]
        count = 1 + sum(other.rpartition(".")[2] == name for other in uses[: len(names)])
        names.append(name if count == 1 else f"{name}_{count}")
    return tuple(names)
