"""metrics.jsonl and one line a log, for trainings on rows, which have no completions to observe."""

import sys
import time
from typing import Any

from transformers import TrainerCallback
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from train.metrics_log import METRICS, SUMMARY, append, forget_after, plain
from train.progress import Progress, line
from train.run_dir import RunDir


class StageLog(TrainerCallback):
    """Writes what the trainer logs into a run directory; a resumed run writes again what came after."""

    def __init__(self, run_dir: RunDir) -> None:
        self.run_dir = run_dir
        self.progress = Progress()
        self.began, self.first_step = time.monotonic(), run_dir.step
        if run_dir.writer:
            forget_after(run_dir.path, run_dir.step)

    def attach(self, trainer: Any) -> None:
        """Join a trainer in the place of its own printing; its bar stays where there is a terminal."""
        had_bar = trainer.pop_callback(ProgressCallback) is not None
        trainer.pop_callback(PrinterCallback)
        trainer.callback_handler.callbacks.insert(0, self)
        if had_bar and sys.stderr.isatty():
            trainer.add_callback(self.progress)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start the clock of the remaining time."""
        self.began, self.first_step = time.monotonic(), state.global_step

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Write one line of metrics, and say where the training stands."""
        if not self.run_dir.writer:
            return
        logs: dict[str, Any] = kwargs["logs"]
        step = {"step": state.global_step}
        if "train_runtime" in logs:  # the trainer's last word, on the run as a whole
            totals = {name: value for name, value in logs.items() if name.startswith("train_")}
            self.run_dir.write_json(SUMMARY, plain(step | totals))
            return
        record = step | {"seconds": time.monotonic() - self.began} | logs
        append(self.run_dir.path / METRICS, record)
        per_step = record["seconds"] / max(1, state.global_step - self.first_step)
        self.progress.say(line(record, state.max_steps, per_step))
