"""TRL's GRPO trainer with one more thing: a weight for each row's advantages."""

from collections.abc import Sequence
from typing import Any

import torch
from trl import GRPOTrainer


class RowWeightedGRPOTrainer(GRPOTrainer):
    """Multiplies the advantages of task i by `row_weights[i]`; None is TRL's trainer as it is.

    A weight on the reward would cancel under `scale_rewards: group`, so it has to act here. TRL returns this
    rank's advantages in input order from the method below (pinned; a test fails when that changes).
    """

    def __init__(self, *args: Any, row_weights: Sequence[float] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.row_weights = None if row_weights is None else torch.tensor(row_weights, dtype=torch.float32)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        batch: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self.row_weights is not None:
            weights = self.row_weights[[row["task_index"] for row in inputs]]
            batch["advantages"] = batch["advantages"] * weights.to(batch["advantages"].device)
        return batch
