"""Rewards for TRL's trainers: one function per column, all computed once per batch.

TRL calls each reward function in turn with the same keyword arguments, takes a list of floats (None: does not
apply) and names its metrics by `__name__`. The dataset carries `task_index`, a place in `tasks`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rewards.stack import RewardStack, StackScore
from tasks.tool_task import ToolTask

RewardFunction = Callable[..., list[float | None]]


@dataclass(frozen=True, slots=True)
class Batch:
    """One scoring of this rank's completions; `step` is the trainer's optimizer step."""

    tasks: tuple[ToolTask, ...]
    texts: tuple[str, ...]
    scores: tuple[StackScore, ...]
    seconds: dict[str, float]  # per completion, by "parse" and column name
    step: int


def reward_functions(
    stack: RewardStack, tasks: Sequence[ToolTask], observe: Callable[[Batch], None] | None = None
) -> list[RewardFunction]:
    """Functions for `reward_funcs`, in the order of `stack.weights` (TRL's `reward_weights`).

    Values are scaled by each reward's warm-up. `observe` is called once per batch. Raises ValueError when the
    batch has no task for every completion or a reward is not a finite number.
    """
    shared = _Shared(stack, tasks, observe)
    return [_function(shared, column, name) for column, name in enumerate(stack.names)]


def _function(shared: "_Shared", column: int, name: str) -> RewardFunction:
    def reward(*, completions: Sequence[Any], **batch: Any) -> list[float | None]:
        return shared.column(column, completions, batch)

    reward.__name__ = reward.__qualname__ = name
    return reward


class _Shared:
    """The batch in progress: scored at its first column, handed out column by column."""

    def __init__(
        self, stack: RewardStack, tasks: Sequence[ToolTask], observe: Callable[[Batch], None] | None
    ) -> None:
        self.stack, self.tasks, self.observe = stack, tasks, observe
        self.completions: Sequence[Any] | None = None  # kept, so that its identity cannot be another batch's
        self.served: set[int] = set()
        self.batch: Batch | None = None

    def column(self, column: int, completions: Sequence[Any], batch: dict[str, Any]) -> list[float | None]:
        if self.batch is None or completions is not self.completions or column in self.served:
            self.batch = self._score(completions, batch)
            self.completions, self.served = completions, set()
        self.served.add(column)
        name, factor = self.stack.names[column], self.stack.specs[column].factor(self.batch.step)
        values = (score.columns[name].value for score in self.batch.scores)
        return [None if value is None else factor * value for value in values]

    def _score(self, completions: Sequence[Any], batch: dict[str, Any]) -> Batch:
        indices = batch.get("task_index")
        if indices is None:
            raise ValueError("the dataset lacks the column task_index: no task for the completions")
        if len(indices) != len(completions):
            raise ValueError(
                f"{len(indices)} tasks for {len(completions)} completions: one of each is needed"
            )
        tasks = tuple(self.tasks[int(index)] for index in indices)
        # Of a dialogue the last word is scored, which its rollouts hand over.
        texts = tuple(map(text_of, batch.get("final_text") or completions))
        scores, seconds = self.stack.score_batch(tasks, texts)
        log_metric = batch.get("log_metric")
        if log_metric is not None:
            for name, value in seconds.items():
                log_metric(f"reward_seconds/{name}", value)
        step = int(getattr(batch.get("trainer_state"), "global_step", 0))
        scored = Batch(tasks, texts, tuple(scores), seconds, step)
        if self.observe is not None:
            self.observe(scored)
        return scored


def text_of(completion: str | Sequence[dict[str, Any]]) -> str:
    """The text of a completion: itself, or the assistant turns of a message list."""
    if isinstance(completion, str):
        return completion
    return "\n".join(str(message.get("content") or "") for message in completion)
