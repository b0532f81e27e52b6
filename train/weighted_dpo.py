"""TRL's DPO trainer (arXiv 2305.18290) with a weight for each pair; with weights of 1 it is TRL's trainer.

It leans on private names of TRL 1.16 (pinned); tests fail when one of them changes its meaning.
"""

import functools
from collections.abc import Mapping
from typing import Any

import torch
from torch.nn import functional
from trl import DPOTrainer

from tasks.errors import InputError
from train.watchdog import Watchdog
from train.weighted_rows import WEIGHT, WithWeights, split


def losses(
    chosen: torch.Tensor,
    rejected: torch.Tensor,
    reference_chosen: torch.Tensor,
    reference_rejected: torch.Tensor,
    beta: float,
) -> torch.Tensor:
    """-log sigmoid(beta ((chosen - its reference) - (rejected - its reference))) of each pair.

    All are log-probabilities of whole completions, (pairs,).
    """
    margins = (chosen - reference_chosen) - (rejected - reference_rejected)
    return -functional.logsigmoid(beta * margins)


class Trainer(DPOTrainer):
    """Minimises sum_i w_i loss_i / sum_i w_i over the pairs i of an accumulation window, on all ranks.

    The loss is sigmoid's. The reference is the adapter `ref`, which TRL makes of the one that comes in; it is
    checked to be its frozen copy, and never saved.
    """

    def __init__(self, *args: Any, watchdog: Watchdog, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.aux_loss_enabled:
            raise InputError("model: a mixture of experts with an auxiliary loss cannot be trained on pairs")
        self.data_collator: Any = WithWeights(self.data_collator)
        self.watchdog = watchdog
        check_reference(self.model)
        saved = functools.partial(self.model.save_pretrained, selected_adapters=["default"])
        setattr(self.model, "save_pretrained", saved)  # noqa: B010  a method, which mypy guards

    def _set_signature_columns_if_needed(self) -> None:
        super()._set_signature_columns_if_needed()
        if WEIGHT not in self._signature_columns:
            self._signature_columns.append(WEIGHT)

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: torch.device) -> torch.Tensor | None:
        """The mean weight of a window on all ranks, averaged as TRL averages the losses."""
        if not batch_samples:
            return None
        mean = torch.stack([batch[WEIGHT].mean() for batch in batch_samples]).mean()
        total: torch.Tensor = self.accelerator.gather(mean.to(device)).mean()
        return total

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> torch.Tensor:
        """The mean of a micro-batch; TRL divides it by the number of micro-batches."""
        rest, weights = split(inputs)
        mask = rest["completion_mask"]
        labels = rest["input_ids"].masked_fill(mask == 0, -100)
        outputs = model(
            input_ids=rest["input_ids"],
            attention_mask=rest["attention_mask"],
            labels=labels,
            use_cache=False,
            fused_lm_head=True,
        )
        said = outputs.log_probs.sum(dim=1).chunk(2)  # TRL stacks the chosen ones on the rejected ones
        reference = self.compute_ref_log_probs(self.model, rest)
        each = losses(said[0], said[1], reference[0], reference[1], self.beta)
        with torch.no_grad():
            self._note(said, reference, outputs, mask[:, 1:])
        mean_weight = weights.mean() if num_items_in_batch is None else num_items_in_batch
        return (each * weights).mean() / mean_weight

    @staticmethod
    def longest(row: Mapping[str, Any]) -> int:
        """Tokens of the longer sequence that a prepared pair becomes."""
        return len(row["prompt_ids"]) + max(len(row["chosen_ids"]), len(row["rejected_ids"]))

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        """TRL's own; something moved."""
        self.watchdog.beat()
        return super().training_step(*args, **kwargs)

    def _note(
        self,
        said: tuple[torch.Tensor, ...],
        reference: tuple[torch.Tensor, ...],
        outputs: Any,
        mask: torch.Tensor,
    ) -> None:
        """What TRL notes under the same names, unweighted."""
        chosen, rejected = (self.beta * (own - ref) for own, ref in zip(said, reference, strict=True))
        noted = {
            "rewards/chosen": chosen,
            "rewards/rejected": rejected,
            "rewards/accuracies": (chosen > rejected).float(),
            "rewards/margins": chosen - rejected,
            "logps/chosen": said[0],
            "logps/rejected": said[1],
            "entropy": (outputs.entropy * mask).sum()[None] / mask.sum(),
        }
        for name, values in noted.items():
            self._metrics["train"][name].append(self.accelerator.gather(values).mean().item())


def check_reference(model: Any) -> None:
    """Raise RuntimeError unless `ref` holds the tensors of `default` and is frozen: TRL's doing, not ours."""
    own = {name: value for name, value in model.named_parameters() if ".default." in name}
    trained = [name for name, value in model.named_parameters() if value.requires_grad]
    if not own or set(trained) != set(own):
        raise RuntimeError("what is trained is not the adapter `default` alone")
    for name, value in own.items():
        if not torch.equal(value.data, model.get_parameter(name.replace(".default.", ".ref.")).data):
            raise RuntimeError(f"the reference is no copy of the adapter: {name} differs")
