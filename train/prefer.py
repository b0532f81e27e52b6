"""Preference pairs on TRL's DPO trainer: the second and third stage of training a questioner.

Each pair with its weight; the reference is a frozen copy of the adapter that comes in (arXiv 2305.18290,
arXiv 2609.37236). Which pairs are taken is the recipe's: questions alone, or questions and stops.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rewards.consequence.pairs import Kind, Reason
from tasks.errors import InputError
from train.stage_config import StageConfig
from train.trl_fields import Trl

if TYPE_CHECKING:
    from datasets import Dataset

    from train.stage_run import Parts

_SIGMOID = "the loss is sigmoid, the one that pairs can weigh"
_REFERENCE = "the reference is a frozen copy of the adapter"
REFUSED = {
    "loss_type": _SIGMOID,
    "loss_weights": _SIGMOID,
    "label_smoothing": _SIGMOID,
    "label_smoothing_factor": _SIGMOID,
    "ld_alpha": _SIGMOID,
    "f_divergence_type": _SIGMOID,
    "f_alpha_divergence_coef": _SIGMOID,
    "discopop_tau": _SIGMOID,
    "use_weighting": "weights are those of the rows",
    "precompute_ref_log_probs": _REFERENCE,
    "precompute_ref_batch_size": _REFERENCE,
    "sync_ref_model": _REFERENCE,
    "ref_model_mixup_alpha": _REFERENCE,
    "ref_model_sync_steps": _REFERENCE,
}


@dataclass(frozen=True, slots=True)
class Config(StageConfig):
    """Fields of a `job: train.prefer` recipe."""

    TRL: ClassVar[Trl] = "DPOConfig"
    REFUSED: ClassVar[Mapping[str, str]] = REFUSED

    kinds: tuple[Kind, ...] = ("ask_ask",)
    """Which pairs are taken."""
    exclude_reasons: tuple[Reason, ...] = ()
    """Which of these are left out, by what decided them."""
    stop_done_share: float | None = None
    """What part of all weight on pairs of an ask and a STOP goes to those that STOP won because all was in
    hand; the weights of both sides are scaled to it, their sum stays. None: as the data have it."""

    def __post_init__(self) -> None:
        StageConfig.__post_init__(self)
        if not self.kinds:
            raise InputError("kinds is empty; name at least one, such as ask_ask")
        if self.trainer.get("beta") == 0.0:
            raise InputError("trainer.beta is 0; it is above 0, or there is nothing to learn")
        share = self.stop_done_share
        if share is None:
            return
        if not 0.0 < share < 1.0:
            raise InputError(
                f"stop_done_share is {share:g}; it is between 0 and 1; to leave out one side, use "
                "exclude_reasons"
            )
        if "stop_done" in self.exclude_reasons:
            raise InputError("exclude_reasons leaves out the stop_done pairs that stop_done_share wants")

    def missing(self) -> Iterator[str]:
        """What a run needs and the recipe leaves to the command line."""
        yield from StageConfig.missing(self)
        if self.adapter is None:
            yield "adapter is not given; set adapter=FOLDER, what the stage before left"


def run(config: Config) -> None:
    """Train, and leave the adapter, its card and its lineage in `config.output_dir`.

    Raises InputError, before any heavy work, for bad rows, another base, and a folder of another run.
    """
    from train.stage_data import pairs
    from train.stage_run import run

    run("train.prefer", config, pairs, _trainer)


def _trainer(config: StageConfig, parts: "Parts", rows: "Dataset", **common: Any) -> Any:
    from train import stage_models
    from train.weighted_dpo import Trainer

    return Trainer(model=stage_models.with_adapter(config, parts), train_dataset=rows, **common)
