"""The fields that `job: train.imitate` and `job: train.prefer` share. Imports neither torch nor TRL."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from tasks.errors import InputError
from train.ranges import check_seed, check_trainer
from train.trl_fields import Trl, trainer_arguments

OURS = {
    "output_dir": "it stands at the top of the recipe",
    "seed": "it stands at the top of the recipe",
    "max_length": "it stands at the top of the recipe",
    "truncation_mode": "rows longer than max_length are left out and counted, not cut",
    "model_init_kwargs": "use model, model_revision and dtype at the top of the recipe",
    "resume_from_checkpoint": "an output_dir of the same recipe resumes by itself",
    "eval_strategy": "evaluation is a job of its own",
    "remove_unused_columns": "the weights of rows are kept as they are",
    "padding_free": "rows stand beside each other, padded: their weights are their own",
}
"""Keys of TRL's that a recipe says elsewhere or not at all, and why."""


@dataclass(frozen=True, slots=True)
class StageConfig:
    """One stage of training on exported rows; `trainer` takes TRL's own names."""

    TRL: ClassVar[Trl]
    """Whose names `trainer` takes."""
    REFUSED: ClassVar[Mapping[str, str]]
    """Further keys that are not for a recipe."""

    model: str
    """The base: a hub name, a folder, or a name of ours such as `mini`."""
    output_dir: Path
    data: Path | None = None
    """The folder that `askrl export` made, or one of its files (.jsonl, .parquet)."""
    adapter: Path | None = None
    """The adapter of the stage before."""
    model_revision: str | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "float32"
    """Of the frozen weights; the adapter is trained in float32."""
    max_length: int = 5120
    """In tokens, prompt and action together; longer rows are left out and counted."""
    trainer: Mapping[str, Any] = field(default_factory=dict)
    watchdog_s: float | None = 1800.0
    """After so many seconds in which nothing moved, a rank tells where it stands; null: never."""
    seed: int = 0

    def __post_init__(self) -> None:
        for key, reason in {**OURS, **self.REFUSED}.items():
            if key in self.trainer:
                raise InputError(f"trainer.{key} is not for a recipe: {reason}")
        if self.max_length < 2:
            raise InputError(f"max_length is {self.max_length}; it is at least 2 tokens")
        if self.watchdog_s is not None and self.watchdog_s <= 0:
            raise InputError(f"watchdog_s is {self.watchdog_s:g}; it is above 0 seconds, or null")
        object.__setattr__(self, "trainer", trainer_arguments(self.trainer, self.TRL))
        check_trainer(self.trainer)
        check_seed("seed", self.seed)

    def missing(self) -> Iterator[str]:
        """What a run needs and the recipe leaves to the command line."""
        if self.data is None:
            yield "data is not given; set data=FOLDER, the folder that `askrl export` made"

    def preflight(self, world: int) -> None:
        """Raise `InputError` for what cannot run on `world` ranks, see `train.check`."""
        from train.check.stages import preflight

        preflight(self, world)

    def report(self, world: int) -> Iterator[tuple[str, list[str]]]:
        """What `askrl check` tells, as (title, lines)."""
        from train.check.stages import report

        return report(self, world)
