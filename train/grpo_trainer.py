"""TRL's GRPO trainer with three more things: row weights, rollouts from a generator, timed phases.

It leans on private names of TRL 1.16 (pinned); tests fail when one of them changes its meaning.
"""

import os
from collections.abc import Sequence
from typing import Any

import torch

from train.rollouts import Rollouts
from train.watchdog import Watchdog

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")  # `rollout_func` is; TRL is pinned

from trl import GRPOTrainer


class Trainer(GRPOTrainer):
    """TRL's trainer as it is, unless told otherwise.

    `row_weights[i]` multiplies the advantages of task i: a weight on the reward would cancel under
    `scale_rewards: group`. `rollouts` makes the completions; TRL publishes the policy to it and corrects for
    the difference between engine and trainer as with its own vLLM, of which none is built.
    """

    def __init__(
        self,
        *args: Any,
        row_weights: Sequence[float] | None = None,
        rollouts: Rollouts | None = None,
        watchdog: Watchdog,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, rollout_func=rollouts, **kwargs)
        self.row_weights = None if row_weights is None else torch.tensor(row_weights, dtype=torch.float32)
        self.watchdog = watchdog
        self.rows: list[dict[str, Any]] = []
        self.rollouts = rollouts
        if rollouts is not None:
            rollouts.attach(self)
            self.use_vllm, self.vllm_mode = True, "external"
            self.vllm_generation: Any = rollouts
            self._last_loaded_step = -1

    def close(self) -> None:
        """Let go of the engine and of the watchdog."""
        self.watchdog.stop()
        if self.rollouts is not None:
            self.rollouts.close()

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        self.rows = inputs
        batch: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self.row_weights is not None:
            # TRL returns this rank's advantages in input order.
            weights = self.row_weights[[row["task_index"] for row in inputs]]
            batch["advantages"] = batch["advantages"] * weights.to(batch["advantages"].device)
        ratio = batch.get("importance_sampling_ratio")
        if ratio is not None:
            mask = batch["completion_mask"] * batch.get("tool_mask", 1)
            masked, all_ = self.accelerator.gather(masked_of(ratio, mask)[None]).sum(dim=0).tolist()
            mode = "train" if self.model.training else "eval"
            self._metrics[mode]["sampling/masked_share"].append(masked / max(all_, 1))
        return batch

    def _tokenize_prompts(self, prompts: list[str]) -> tuple[list[list[int]], None, dict[str, Any]]:
        # The chat template has written every special token; TRL would write the first one again.
        return self.processing_class(text=prompts, add_special_tokens=False)["input_ids"], None, {}

    def _generate(self, prompts: list[Any]) -> Any:
        with self.watchdog.phase("generation"):
            return super()._generate(prompts)

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Any:
        with self.watchdog.phase("rewards"):
            return super()._calculate_rewards(*args, **kwargs)

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        """TRL's own; something moved."""
        self.watchdog.beat()
        return super().training_step(*args, **kwargs)


def masked_of(ratio: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(those that the importance correction drops, all): completions for a ratio (B, 1), tokens for (B, T).

    Only what the loss is made of counts: `mask` (B, T) is 0 at padding, replies and cut completions.
    """
    trained = mask.bool() if ratio.shape == mask.shape else mask.bool().any(dim=1, keepdim=True)
    return torch.stack([(trained & (ratio == 0)).sum(), trained.sum()])
