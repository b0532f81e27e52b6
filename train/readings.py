"""What a window of scored completions says: action mix, accuracy, certainty and its worth, groups, collapse.

Everything is computed from `Row`s, one small record a completion, so that ranks are merged exactly: gather
their rows, then read. A group is the completions of one task in one scoring; it may span ranks.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from eval import calibration
from rewards import certainty, tool_match
from rewards.stack import RewardSpec, StackScore
from rewards.trl import Batch
from tasks.completion import ACTIONS, Action
from tasks.tool_task import ToolTask

Readings = dict[str, float | None]
_DEFAULT = certainty.Config()


@dataclass(frozen=True, slots=True)
class Row:
    """One completion: where it belongs, what it did, what it earned."""

    scoring: int
    """Number of the scoring on its rank; the same batch has the same number on all ranks."""
    task: str
    gold: Action
    action: Action
    right: bool
    """The right action and, where that is a call, exactly the right call."""
    called: bool
    """A call that can be read, right or wrong: what calibration is measured on, as in evaluation."""
    well_formed: bool
    certainty: float
    total: float
    values: Mapping[str, float | None]
    """By reward; None: does not apply."""
    parts: Mapping[str, float]
    """By "reward/part"."""


def rows_of(batch: Batch, scoring: int, specs: Mapping[str, RewardSpec]) -> list[Row]:
    """The rows of a batch; `specs` by reward name give the weights, at the batch's step of their warm-up."""
    return [
        Row(
            scoring=scoring,
            task=task.id,
            gold=task.gold,
            action=score.completion.action,
            right=is_right(task, score),
            called=score.completion.call is not None,
            well_formed=score.completion.well_formed,
            certainty=certainty_of(task, score),
            total=sum(earned(score, specs, batch.step).values()),
            values={name: column.value for name, column in score.columns.items()},
            parts={
                f"{name}/{part}": value
                for name, column in score.columns.items()
                for part, value in column.parts.items()
            },
        )
        for task, score in zip(batch.tasks, batch.scores, strict=True)
    ]


def earned(score: StackScore, specs: Mapping[str, RewardSpec], step: int) -> dict[str, float]:
    """What each reward that applies adds to the total: value x weight x warm-up."""
    return {
        name: specs[name].weight * specs[name].factor(step) * column.value
        for name, column in score.columns.items()
        if column.value is not None
    }


def is_right(task: ToolTask, score: StackScore) -> bool:
    """The right action and, on rows labelled as a call, exactly the right call."""
    if task.gold == "tool_call":
        return tool_match.is_exact(task, score.completion)
    return score.completion.action == task.gold


def certainty_of(task: ToolTask, score: StackScore) -> float:
    """Cert of the completion's action (arXiv 2511.08798 §4), as a reward measured it or in its default form.

    The second case makes a run without the certainty reward comparable with its weighted twin.
    """
    for column in score.columns.values():
        if 0.0 <= column.parts.get("certainty", -1.0) <= 1.0:
            return column.parts["certainty"]
    return certainty.certainty(task, score.completion, _DEFAULT).value


def read(rows: Sequence[Row]) -> Readings:
    """All scalar readings of a window, by metric name; None where undefined. No rows: no readings."""
    if not rows:
        return {}
    readings: Readings = {
        "accuracy/action": fmean(row.action == row.gold for row in rows),
        "accuracy/exact": fmean(row.right for row in rows),
        "well_formed": fmean(row.well_formed for row in rows),
        "reward/total": fmean(row.total for row in rows),
    }
    for action in ACTIONS:
        wanted = [row for row in rows if row.gold == action]
        readings[f"action/{action}"] = fmean(row.action == action for row in rows)
        readings[f"gold/{action}"] = len(wanted) / len(rows)
        readings[f"recall/{action}"] = mean(row.action == action for row in wanted)
        readings[f"certainty/{action}"] = mean(row.certainty for row in wanted)
        if action != "tool_call":
            readings[f"hallucinated/{action}"] = mean(row.action == "tool_call" for row in wanted)
    for name in rows[0].values:
        values = [row.values[name] for row in rows]
        readings[f"rewards/{name}/mean"] = mean(values)
        readings[f"rewards/{name}/applies"] = fmean(value is not None for value in values)
    for name in sorted({name for row in rows for name in row.parts}):
        readings[f"parts/{name}"] = mean(row.parts.get(name) for row in rows)
    return readings | _calibration([row for row in rows if row.called]) | _groups(rows)


def confusion(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Counts by gold class, then by action; gold classes without a row are left out."""
    table: dict[str, dict[str, int]] = {}
    for gold in ACTIONS:
        wanted = [row.action for row in rows if row.gold == gold]
        if wanted:
            table[gold] = {action: wanted.count(action) for action in ACTIONS}
    return table


def groups(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows of one task in one scoring, together."""
    found: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.scoring, row.task), []).append(row)
    return list(found.values())


def mean(values: Iterable[float | None]) -> float | None:
    """Mean of what is there; None over nothing. A value that does not apply is no 0."""
    there = [value for value in values if value is not None]
    return fmean(there) if there else None


def _calibration(calls: Sequence[Row]) -> Readings:
    found = calibration.measure([row.certainty for row in calls], [row.right for row in calls])
    return {
        "calibration/brier": found.brier,
        "calibration/ece": found.ece,
        "calibration/auroc": found.auroc,
    }


def _groups(rows: Sequence[Row]) -> Readings:
    several = [group for group in groups(rows) if len(group) > 1]
    return {
        "groups/no_spread": mean(len({round(row.total, 9) for row in group}) == 1 for group in several),
        "groups/all_right": mean(all(row.right for row in group) for group in several),
        "groups/none_right": mean(not any(row.right for row in group) for group in several),
        "groups/certainty_spread": mean(stdev(row.certainty for row in group) for group in several),
    }


class MixAlarm:
    """Watches the action mix over the last `window` scorings and says when it collapses.

    An action is lost when its share falls below 2 % while it is right on more than 10 % of the rows; it takes
    over when its share exceeds 95 % while it is right on fewer rows than that. Quiet on fewer than `least`
    completions: small windows miss rare actions by chance.
    """

    def __init__(self, window: int = 8, least: int = 64) -> None:
        self.scorings: deque[list[tuple[Action, Action]]] = deque(maxlen=window)
        self.least = least

    def update(self, rows: Sequence[Row]) -> dict[str, str]:
        """Take in further rows (of all ranks); what is wrong now, {short name: phrase with numbers}."""
        scorings: dict[int, list[tuple[Action, Action]]] = {}
        for row in rows:
            scorings.setdefault(row.scoring, []).append((row.gold, row.action))
        self.scorings.extend(scorings.values())
        pairs = [pair for scoring in self.scorings for pair in scoring]
        if len(pairs) < self.least:
            return {}
        wrong = {}
        for action in ACTIONS:
            wanted = sum(gold == action for gold, _ in pairs) / len(pairs)
            share = sum(done == action for _, done in pairs) / len(pairs)
            told = f"{action} is {share:.1%} of the completions and right on {wanted:.1%} of the rows"
            if share < 0.02 and wanted > 0.10:
                wrong[f"{action} is lost"] = told
            elif share > 0.95 and wanted <= 0.95:
                wrong[f"{action} takes over"] = told
        return wrong


def shares(seconds: Mapping[str, float]) -> dict[str, float]:
    """`time/<phase>`: each phase's share of the time; `idle_share`: that in which nothing is generated."""
    total = sum(seconds.values())
    if not total:
        return {}
    found = {f"time/{phase}": spent / total for phase, spent in sorted(seconds.items())}
    return found | {"idle_share": 1.0 - seconds.get("generation", 0.0) / total}
