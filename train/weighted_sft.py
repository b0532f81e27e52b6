"""TRL's SFT trainer with a weight for each row; with weights of 1 it is TRL's trainer.

It leans on private names of TRL 1.16 (pinned); tests fail when one of them changes its meaning.
"""

from collections.abc import Mapping
from typing import Any

import torch
from trl import SFTTrainer

from train.watchdog import Watchdog
from train.weighted_rows import WEIGHT, WithWeights, split

SCALE = 1024.0
"""On weights and their sum alike, exact in floating point: TRL never divides by less than 1."""


class Trainer(SFTTrainer):
    """Minimises sum_i w_i nll_i / sum_i w_i n_i over the rows i of an accumulation window, on all ranks.

    nll_i is the sum over the n_i target tokens of a row. With micro-batches of one row, a mean of each
    micro-batch would cancel the weight.
    """

    def __init__(self, *args: Any, watchdog: Watchdog, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.data_collator: Any = WithWeights(self.data_collator)
        self.watchdog = watchdog

    def _set_signature_columns_if_needed(self) -> None:
        super()._set_signature_columns_if_needed()
        if WEIGHT not in self._signature_columns:
            self._signature_columns.append(WEIGHT)

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: torch.device) -> torch.Tensor | None:
        """Target tokens of a window, on all ranks, each as often as its row's weight says."""
        if not batch_samples:
            return None
        counts = [batch["labels"][:, 1:].ne(-100).sum(dim=1) for batch in batch_samples]
        sums = [(batch[WEIGHT] * n).sum() for batch, n in zip(batch_samples, counts, strict=True)]
        total: torch.Tensor = self.accelerator.gather(torch.stack(sums).sum().to(device)).sum()
        return total * SCALE

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """TRL's own, of log-probabilities that are multiplied by the weights."""
        rest, weights = split(inputs)

        def weighted(**arguments: Any) -> Any:
            outputs = model(**arguments)
            outputs.log_probs = outputs.log_probs * (weights * SCALE)[:, None]
            return outputs

        return super().compute_loss(weighted, rest, return_outputs, num_items_in_batch)

    @staticmethod
    def longest(row: Mapping[str, Any]) -> int:
        """Tokens of a prepared row."""
        return len(row["input_ids"])

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        """TRL's own; something moved."""
        self.watchdog.beat()
        return super().training_step(*args, **kwargs)
