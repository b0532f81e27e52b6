"""Watches a training: metrics.jsonl, transcripts, plots, a warning when the action mix collapses, progress.

    observer = Observer(run_dir, stack)
    trainer = GRPOTrainer(..., reward_funcs=reward_functions(stack, tasks, observer.observe))
    observer.attach(trainer)

Every rank observes its own completions. When the trainer logs, which it does on all ranks at once, their rows
are gathered, and rank 0 reads and writes. The readings join the trainer's own logs, so that wandb, trackio
and tensorboard show them too. How to read them: docs/reading_metrics.md.
"""

import logging
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from accelerate.utils import gather_object
from transformers import TrainerCallback
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from rewards.stack import RewardStack
from rewards.trl import Batch
from train.metrics_log import (
    METRICS,
    PLOTS,
    SUMMARY,
    TRANSCRIPTS,
    Record,
    append,
    forget_after,
    plain,
    records,
)
from train.plots import draw
from train.progress import Progress, line
from train.readings import MixAlarm, Row, confusion, read, rows_of, shares
from train.run_dir import RunDir
from train.transcripts import transcript

logger = logging.getLogger(__name__)

PLOT_EVERY_SECONDS = 300.0


class Observer(TrainerCallback):
    """Reads batches of scored completions and writes what they say into a run directory.

    `transcripts` groups of completions are written each time the trainer logs (0: none). `phases` gives the
    seconds that rank 0 spent in each phase since it was last asked.
    """

    def __init__(
        self,
        run_dir: RunDir,
        stack: RewardStack,
        phases: Callable[[], Mapping[str, float]] = dict,
        transcripts: int = 3,
    ) -> None:
        self.run_dir, self.phases, self.transcripts = run_dir, phases, transcripts
        self.specs = dict(zip(stack.names, stack.specs, strict=True))
        self.rows: dict[str, list[Row]] = {"train": [], "eval": []}
        self.scorings = 0
        self.last_batch: Batch | None = None
        self.alarm, self.alarms = MixAlarm(), dict[str, str]()
        self.progress = Progress()
        self.trainer: Any = None
        self.began = self.drawn = time.monotonic()
        self.first_step = run_dir.step
        if run_dir.writer:
            forget_after(run_dir.path, run_dir.step)

    def attach(self, trainer: Any) -> None:
        """Join a trainer, ahead of its trackers; its dump of all metrics gives way to one line a log.

        Its bar stays where there is a terminal: in the log file of a cluster a bar is noise.
        """
        self.trainer = trainer
        had_bar = trainer.pop_callback(ProgressCallback) is not None
        trainer.pop_callback(PrinterCallback)
        trainer.callback_handler.callbacks.insert(0, self)
        if had_bar and sys.stderr.isatty():
            trainer.add_callback(self.progress)

    def observe(self, batch: Batch) -> None:
        """Take in one scoring of this rank's completions."""
        training = self.trainer is None or self.trainer.model.training
        self.rows["train" if training else "eval"] += rows_of(batch, self.scorings, self.specs)
        self.scorings += 1
        if training:
            self.last_batch = batch

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start the clock of the remaining time."""
        self.began, self.first_step = time.monotonic(), state.global_step
        self.phases()  # what came before is no part of a step

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Merge the ranks, write one line of metrics, and tell what there is to tell."""
        logs: dict[str, Any] = kwargs["logs"]
        mode = "eval" if any(name.startswith("eval_") for name in logs) else "train"
        rows: list[Row] = gather_object(self.rows[mode])
        self.rows[mode] = []
        if not self.run_dir.writer:
            return
        if "train_runtime" in logs:  # the trainer's last word, on the run as a whole
            totals = {name: value for name, value in logs.items() if name.startswith("train_")}
            self.run_dir.write_json(SUMMARY, plain({"step": state.global_step} | totals))
            if not rows:
                return
        step = {"step": state.global_step}
        record = step | self._record(rows, logs, "eval_" if mode == "eval" else "") | step
        append(self.run_dir.path / METRICS, record)
        if mode == "train":
            self._show(state, record)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Draw the plots of the whole run."""
        self._draw()

    def _record(self, rows: list[Row], logs: dict[str, Any], prefix: str) -> Record:
        """The line of metrics. Its numbers go into `logs` too, where the trainer has none of that name."""
        record: Record = {"seconds": time.monotonic() - self.began}
        if not prefix:
            record |= shares(self.phases())
        if rows:
            record |= {prefix + name: value for name, value in read(rows).items()}
            if not prefix:
                record["alarms"] = len(self._watch(rows))
            for name, value in record.items():
                if value is not None:
                    logs.setdefault(name, value)
            record[prefix + "confusion"] = confusion(rows)
        return record | logs

    def _watch(self, rows: list[Row]) -> dict[str, str]:
        """Warn of a collapse when it begins, not at every log while it lasts."""
        before, self.alarms = self.alarms, self.alarm.update(rows)
        for name, told in self.alarms.items():
            if name not in before:
                logger.warning("the action mix collapses: %s (see docs/reading_metrics.md)", told)
        return self.alarms

    def _show(self, state: Any, record: Record) -> None:
        step: int = state.global_step
        if self.transcripts and self.last_batch is not None:
            page = transcript(self.last_batch, self.specs, step, self.transcripts)
            self.run_dir.write_text(f"{TRANSCRIPTS}/step-{step:06d}.md", page)
            self.last_batch = None
        per_step = (time.monotonic() - self.began) / max(1, step - self.first_step)
        self.progress.say(line(record, state.max_steps, per_step))
        if time.monotonic() - self.drawn > PLOT_EVERY_SECONDS:
            self._draw()

    def _draw(self) -> None:
        if not self.run_dir.writer:
            return
        try:
            draw(records(self.run_dir.path / METRICS), self.run_dir.path / PLOTS)
        except Exception:  # hours of training are worth more than a picture of them
            logger.exception("the plots could not be drawn")
        self.drawn = time.monotonic()
