"""Rows that count more or less than others: their weights reach the batch, which TRL's collators drop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

WEIGHT = "weight"
"""The column, and the key of a batch: one number a row."""


@dataclass(frozen=True, slots=True)
class WithWeights:
    """A collator of TRL's, and the weights of the rows beside what it makes of them."""

    inner: Callable[[Sequence[dict[str, Any]]], dict[str, Any]]

    def __call__(self, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The batch with `weight` (rows,), float32."""
        weights = torch.tensor([row[WEIGHT] for row in rows], dtype=torch.float32)
        return {**self.inner(rows), WEIGHT: weights}


def split(batch: dict[str, Any]) -> tuple[dict[str, Any], torch.Tensor]:
    """A batch as TRL knows it, and its weights."""
    rest = dict(batch)
    return rest, rest.pop(WEIGHT)
