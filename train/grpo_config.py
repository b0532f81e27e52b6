"""The fields of a `job: train.grpo` recipe. Imports neither torch nor TRL."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rewards import stack
from rewards.feasibility import Support
from rewards.grounding import Rule
from rollout import environments, generators
from tasks.errors import InputError
from train.ranges import check_seed, check_trainer
from train.trl_fields import trainer_arguments

OURS = {
    "output_dir": "it stands at the top of the recipe",
    "seed": "it stands at the top of the recipe",
    "reward_weights": "each weight stands beside its reward",
    "remove_unused_columns": "rewards need every column",
    "resume_from_checkpoint": "an output_dir of the same recipe resumes by itself",
    "eval_strategy": "evaluation is a job of its own, see eval.when2call",
    "model_init_kwargs": "use model, model_revision and dtype at the top of the recipe",
}
"""Keys of TRL's GRPOConfig that a recipe says elsewhere, and where."""


@dataclass(frozen=True, slots=True)
class Lora:
    """Low-rank adaptation; `lora: null` trains all weights."""

    r: int
    alpha: float
    dropout: float = 0.0
    targets: tuple[str, ...] | Literal["all-linear"] = "all-linear"
    """Names of the linear layers to adapt; `all-linear` is every one of attention and MLP."""

    def __post_init__(self) -> None:
        if self.r < 1:
            raise InputError(f"r is {self.r}; a rank is at least 1")
        if self.alpha <= 0:
            raise InputError(f"alpha is {self.alpha:g}; it must be above 0")
        if not 0.0 <= self.dropout < 1.0:
            raise InputError(f"dropout is {self.dropout:g}; it is a share, 0 up to 1")
        if not self.targets:
            raise InputError("targets is empty; name the layers, or write all-linear")


@dataclass(frozen=True, slots=True)
class Advantage:
    """What happens to the advantages between rewards and loss. The default leaves TRL's as they are."""

    row_weight: Literal["none", "label_certainty"] = "none"
    """`label_certainty` (an extension) multiplies a row's advantages by the certainty of its label."""
    grounding: Rule = "loose"
    """How the text supports a value, see `rewards.grounding`."""
    support: Support = "share"
    """How the arguments of a call come to one number, see `rewards.feasibility`."""


@dataclass(frozen=True, slots=True)
class Config:
    """One GRPO run; `trainer` takes TRL's own names (`max_steps`, `learning_rate`, ...)."""

    model: str
    """A hub name, a folder, or `mini`."""
    task: Mapping[str, Any]
    """`use` and the keys of that task's own Config."""
    rewards: tuple[Mapping[str, Any], ...]
    """`use`, `weight`, `warmup_steps` and the options of each reward."""
    output_dir: Path
    model_revision: str | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "float32"
    """Of the loaded weights; with LoRA the frozen ones."""
    generator: generators.Config = field(default_factory=generators.Transformers)
    """What makes the completions; `transformers` is the policy itself, by TRL's own loop."""
    environment: Mapping[str, Any] | None = None
    """What answers the policy between its turns: `use`, `max_turns` and its options; null: one turn."""
    trainer: Mapping[str, Any] = field(default_factory=dict)
    lora: Lora | None = None
    advantage: Advantage = field(default_factory=Advantage)
    max_prompt_length: int | None = None
    """In tokens; longer prompts are left out and counted."""
    watchdog_s: float | None = 1800.0
    """After so many seconds in which nothing moved, a rank tells where it stands; null: never."""
    seed: int = 0

    def __post_init__(self) -> None:
        for key, reason in OURS.items():
            if key in self.trainer:
                raise InputError(f"trainer.{key} is not for a recipe: {reason}")
        if self.max_prompt_length is not None and self.max_prompt_length < 1:
            raise InputError(f"max_prompt_length is {self.max_prompt_length}; it is at least 1 token")
        if self.watchdog_s is not None and self.watchdog_s <= 0:
            raise InputError(f"watchdog_s is {self.watchdog_s:g}; it is above 0 seconds, or null")
        if self.generator != generators.Transformers() and self.generator.kind == "transformers":
            raise InputError(
                "generator: in training the transformers kind has no settings; "
                "batch and dtype are the trainer's"
            )
        stack.build(self.rewards)
        if self.environment is not None:
            environments.build(self.environment)
        object.__setattr__(self, "trainer", trainer_arguments(self.trainer))
        check_trainer(self.trainer)
        check_seed("seed", self.seed)

    def preflight(self, world: int) -> None:
        """Raise `InputError` for what cannot run on `world` ranks, see `train.check`."""
        from train.check import preflight

        preflight(self, world)
