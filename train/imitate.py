"""Weighted imitation on TRL's SFT trainer: the first stage of training a questioner (arXiv 2609.37236).

Cross-entropy on the tokens of the action alone, each row with its weight. It starts from the base with a new
adapter (`lora:`), or goes on with one (`adapter:`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tasks.errors import InputError
from train.grpo_config import Lora
from train.stage_config import StageConfig
from train.trl_fields import Trl

if TYPE_CHECKING:
    from datasets import Dataset

    from train.stage_run import Parts

REFUSED = {
    "loss_type": "it is nll, the one that rows can weigh",
    "label_smoothing_factor": "the weighted loss has none",
    "packing": "a row is a sequence: its weight is its own",
    "eval_packing": "a row is a sequence: its weight is its own",
    "completion_only_loss": "the loss is on the action alone",
    "assistant_only_loss": "the loss is on the action alone",
    "average_tokens_across_devices": "weights are summed over all ranks",
    "dataset_kwargs": "rows are prepared as TRL prepares them",
    "dataset_text_field": "rows are prompts and actions",
    "chat_template_path": "the template is the model's",
    "eos_token": "it is the model's",
}


@dataclass(frozen=True, slots=True)
class Config(StageConfig):
    """Fields of a `job: train.imitate` recipe: `lora` for a new adapter, or `adapter` to go on with one."""

    TRL: ClassVar[Trl] = "SFTConfig"
    REFUSED: ClassVar[Mapping[str, str]] = REFUSED

    lora: Lora | None = None

    def __post_init__(self) -> None:
        StageConfig.__post_init__(self)
        if (self.lora is None) == (self.adapter is None):
            raise InputError("give either lora, for a new adapter, or adapter, to go on with one")


def run(config: Config) -> None:
    """Train, and leave the adapter, its card and its lineage in `config.output_dir`.

    Raises InputError, before any heavy work, for bad rows, another base, and a folder of another run.
    """
    from train.stage_data import imitation
    from train.stage_run import run

    run("train.imitate", config, imitation, _trainer)


def _trainer(config: StageConfig, parts: "Parts", rows: "Dataset", **common: Any) -> Any:
    from train import grpo, stage_models
    from train.weighted_sft import Trainer

    assert isinstance(config, Config)
    if config.lora is None:
        common["model"] = stage_models.with_adapter(config, parts)
    else:
        common |= {"model": parts.model, "peft_config": grpo.lora(config.lora)}
    return Trainer(train_dataset=rows, **common)
