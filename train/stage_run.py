"""What every stage on exported rows does: the run directory, the trainer, what is left in the end."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tasks.errors import InputError
from train import hardware, lineage, models
from train.recipe import resolved
from train.run_dir import RunDir
from train.stage_card import write_card
from train.stage_config import StageConfig
from train.stage_data import Rows
from train.stage_log import StageLog
from train.watchdog import Watchdog

if TYPE_CHECKING:
    from transformers import TrainingArguments

logger = logging.getLogger(__name__)
C = TypeVar("C", bound=StageConfig)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a trainer is made of beside its rows: the base (hub name or folder) and TRL's arguments."""

    model: str
    arguments: "TrainingArguments"


def run(job: str, config: C, read: Callable[[C], Rows], make: Callable[..., Any]) -> None:
    """Train on the rows that `read` gives with the trainer that `make(config, parts, rows, ...)` makes."""
    for told in config.missing():
        raise InputError(told)
    models.check(config.model, config.model_revision)
    rows = read(config)
    arguments = training_arguments(config)
    parts = Parts(models.locate(config.model, config.seed, arguments), arguments)
    base = lineage.base_of(config.model, parts.model, config.model_revision)
    hashes = dict(rows.hashes)
    if config.adapter is not None:
        lineage.check_base(config.adapter, parts.model, base)
        hashes["adapter"] = lineage.weights_digest(config.adapter)
    recipe = resolved(job, config)
    run_dir = RunDir.open(config.output_dir, recipe, hashes)
    if run_dir.finished:
        if run_dir.writer:
            print(f"{run_dir.path}: this run has finished, nothing is left to do under its recipe")
        return
    run_dir.write_json(lineage.LINEAGE, lineage.lineage(base, config.adapter, rows.hashes, recipe))
    trainer = build(config, parts, rows, run_dir, make)
    try:
        trainer.train(resume_from_checkpoint=str(run_dir.checkpoint) if run_dir.checkpoint else None)
        trainer.save_model()
        write_card(run_dir, config, rows.counts)
        run_dir.finish(trainer.state.global_step)
        trainer.accelerator.wait_for_everyone()  # a rank that leaves early takes the process group with it
    finally:
        trainer.watchdog.stop()
    trainer.accelerator.end_training()


def build(config: StageConfig, parts: Parts, rows: Rows, run_dir: RunDir, make: Callable[..., Any]) -> Any:
    """The trainer of a run, ready to start."""
    watchdog = Watchdog(config.watchdog_s, parts.arguments.process_index, run_dir.path)
    log = StageLog(run_dir)
    trainer = make(
        config,
        parts,
        rows.data,
        args=parts.arguments,
        processing_class=models.tokenizer(parts.model, config.model_revision),
        watchdog=watchdog,
    )
    counts = {**rows.counts, "too long": drop_long(trainer, config)}
    run_dir.write_json("rows.json", counts)
    log.attach(trainer)
    return trainer


def drop_long(trainer: Any, config: StageConfig) -> int:
    """Leave out the rows that TRL, told of no limit, has prepared longer than `max_length`; how many."""
    before, longest, most = trainer.train_dataset, trainer.longest, config.max_length
    kept = before.filter(lambda row: longest(row) <= most)  # what it names is hashed: no trainer, no model
    if not len(kept):
        raise InputError(f"max_length {config.max_length} leaves out all of the {len(before)} rows; raise it")
    dropped = len(before) - len(kept)
    if dropped and trainer.args.process_index == 0:
        logger.warning(
            "%d of %d rows are longer than max_length %d and are left out",
            dropped, len(before), config.max_length,
        )  # fmt: skip
    trainer.train_dataset = kept
    return dropped


def training_arguments(config: StageConfig) -> Any:
    """TRL's own arguments: the recipe's `trainer:` section, and what the recipe says elsewhere."""
    import trl

    named = {
        "ddp_find_unused_parameters": False,  # there are none, and looking for them takes a pass a step
        **hardware.defaults(),
        **config.trainer,
        "output_dir": str(config.output_dir),
        "seed": config.seed,
        "max_length": None,  # or TRL cuts what is longer
        "model_init_kwargs": {"dtype": config.dtype, "revision": config.model_revision or "main"},
    }
    if named.get("use_cpu"):
        hardware.name_the_cpu()
    try:
        arguments = getattr(trl, config.TRL)(**named)
    except ValueError as error:  # what TRL finds wrong with values that each have the right type
        raise InputError(f"trainer: {error}") from error
    if arguments.use_cpu and arguments.deepspeed:
        hardware.join_deepspeed()
    return arguments
