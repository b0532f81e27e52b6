"""`askrl bench grpo`: seconds of one of our GRPO steps over one of TRL's own trainer.

Same mini model, prompts and batch, and a reward that is always 1, so that both sample the same tokens from
weights that never move. The two take turns in one process, a fresh trainer each time; a step is timed from
its begin to the next one's, so that logging and observing are in it. All rounds repeat the same steps, and of
each step the fastest counts: other work on the machine can only slow it down.
"""

import contextlib
import io
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewards.score import Score
from tasks.completion import Completion
from tasks.errors import InputError
from tasks.tool_task import ToolTask

if TYPE_CHECKING:
    from trl import GRPOTrainer

ROUNDS, STEPS, WARMUP = 6, 13, 3
RECIPE: dict[str, Any] = {
    "model": "mini",
    "task": {"use": "mini", "train_rows": 512},
    "rewards": [{"use": "train.bench.grpo"}],
    "trainer": {
        "max_steps": STEPS, "per_device_train_batch_size": 64, "num_generations": 8,
        "max_completion_length": 48, "learning_rate": 5e-4, "use_cpu": True, "bf16": False,
        "gradient_checkpointing": False, "logging_steps": 1, "save_strategy": "no", "report_to": "none",
        "disable_tqdm": True,
    },
}  # fmt: skip


def score(task: ToolTask, completion: Completion) -> Score:
    """The trivial reward."""
    return Score(1.0, {}, "always")


def run(arguments: Sequence[str]) -> int:
    """Print the steps of both and, as the last line, `step_ratio` as JSON."""
    if arguments:
        raise InputError(f"askrl bench grpo takes no arguments, not {' '.join(arguments)}")
    ours: list[list[float]] = []
    theirs: list[list[float]] = []
    for i in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            pair = [(ours, _ours), (theirs, _theirs)]
            for times, build in pair if i % 2 == 0 else pair[::-1]:
                found = _step_seconds(build(Path(folder) / build.__name__))
                times.append(found)
                print(f"round {i + 1}: {build.__name__.strip('_')} {_ms(found)} ms a step", flush=True)
    ratio = round(sum(_fastest(ours)) / sum(_fastest(theirs)), 4)
    ms = {"ours_ms": _ms(_fastest(ours)), "trl_ms": _ms(_fastest(theirs))}
    print(json.dumps({"step_ratio": ratio, "steps": len(ours[0]), "rounds": len(ours), **ms}))
    return 0


def _fastest(rounds: Sequence[Sequence[float]]) -> list[float]:
    return [min(times) for times in zip(*rounds, strict=True)]


def _ms(times: Sequence[float]) -> float:
    return round(1e3 * statistics.median(times), 2)


def _ours(folder: Path) -> "GRPOTrainer":
    from tasks import sources
    from tasks.strict import build
    from train import grpo
    from train.run_dir import RunDir

    config = build(grpo.Config, {**RECIPE, "output_dir": str(folder)}, "bench", folder)
    task_set = sources.load(config.task, "train", config.seed)
    return grpo.build(config, task_set, RunDir.open(folder, {"bench": "grpo"}, task_set.hashes))


def _theirs(folder: Path) -> "GRPOTrainer":
    from trl import GRPOConfig, GRPOTrainer

    from tasks import sources
    from train.grpo import prompts
    from train.models import locate, tokenizer

    arguments = GRPOConfig(**RECIPE["trainer"], output_dir=str(folder), seed=0)
    model = locate("mini", 0, arguments)
    words = tokenizer(model)
    dataset = prompts(sources.load(RECIPE["task"], "train", 0), words)

    def always(completions: list[str], **_: Any) -> list[float]:
        return [1.0] * len(completions)

    return GRPOTrainer(
        model=model, args=arguments, processing_class=words, train_dataset=dataset, reward_funcs=always
    )  # fmt: skip


def _step_seconds(trainer: "GRPOTrainer") -> list[float]:
    from transformers import TrainerCallback

    begins: list[float] = []

    class Clock(TrainerCallback):
        def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
            begins.append(time.perf_counter())

    trainer.add_callback(Clock())
    with contextlib.redirect_stdout(io.StringIO()):
        trainer.train()
    return [after - before for before, after in itertools.pairwise(begins)][WARMUP:]
