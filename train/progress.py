"""How far a training is, on the terminal: one line a log, and the bar without its dump of all metrics."""

from collections.abc import Mapping
from typing import Any

from transformers.trainer_callback import ProgressCallback

from tasks.action_text import SHORT
from tasks.completion import ACTIONS


class Progress(ProgressCallback):
    """The bar, with the time that remains."""

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Say nothing: `say` does."""

    def say(self, text: str) -> None:
        """Print a line above the bar, or just print it where there is none."""
        if self.training_bar is None:
            print(text, flush=True)
        else:
            self.training_bar.write(text)


def line(record: Mapping[str, Any], max_steps: int, seconds_per_step: float) -> str:
    """One logged step in one line: step, remaining time, reward, action mix, accuracy, calibration."""
    step = record["step"]
    left = f", {duration(seconds_per_step * (max_steps - step))} left" if max_steps > step else ""
    said = [f"step {step}/{max_steps} ({seconds_per_step:.1f} s each{left})"]
    if record.get("reward/total") is not None:
        said.append(f"reward {record['reward/total']:.2f}")
    if record.get("action/tool_call") is not None:
        said.append("mix " + " ".join(f"{SHORT[name]} {record[f'action/{name}']:.0%}" for name in ACTIONS))
        said.append(f"right action {record['accuracy/action']:.0%}, exact {record['accuracy/exact']:.0%}")
    if record.get("calibration/ece") is not None:
        said.append(f"ECE {record['calibration/ece']:.2f}")
    if record.get("loss") is not None:
        said.append(f"loss {record['loss']:.3g}")
    return " | ".join(said)


def duration(seconds: float) -> str:
    """Seconds as "45 s", "12 min" or "3 h 05 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
