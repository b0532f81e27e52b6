"""The observer writes metrics, transcripts and plots, warns once, and merges ranks."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from transformers import TrainerControl, TrainerState

from tasks.completion import ACTIONS
from tests.train.scored import CALL_TEXTS, STACK, TRAIN, VAGUE, batch
from train import observe as module
from train.metrics_log import records
from train.observe import Observer
from train.progress import Progress, duration, line
from train.run_dir import RunDir

ROOT = Path(__file__).parents[2]


def opened(path: Path, step: int = 0) -> RunDir:
    path.mkdir(exist_ok=True)
    return RunDir(path, step=step)


def log(observer: Observer, step: int, **logs: object) -> dict[str, object]:
    """What the trainer does at a log, on a run of 100 steps."""
    state = TrainerState(global_step=step, max_steps=100)
    observer.on_log(None, state, TrainerControl(), logs=logs)
    return logs


def test_one_line_of_metrics_for_each_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    observer = Observer(opened(tmp_path / "run"), STACK)
    observer.observe(batch())
    logs = log(observer, 1, loss=0.25, **{"rewards/format/mean": 0.75})
    observer.observe(batch(step=1))
    log(observer, 2, loss=float("nan"))
    first, second = records(tmp_path / "run" / "metrics.jsonl")
    assert (first["step"], first["loss"], first["accuracy/exact"]) == (1, 0.25, 0.25)
    assert first["rewards/format/mean"] == 0.75, "the trainer's own number stands"
    assert first["confusion"]["tool_call"]["tool_call"] == 2
    assert first["recall/direct"] is None
    assert (second["step"], second["loss"]) == (2, None)
    assert second["action/tool_call"] == 0.5, "a log reads what came since the last one"
    assert logs["action/tool_call"] == 0.5, "trackers see the readings"
    assert all(isinstance(value, float | int) for value in logs.values()), "and nothing but numbers"
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 2
    assert told[0].startswith("step 1/100 (")
    assert "mix call 50% ask 25% decline 12% answer 12% | right action 38%, exact 25%" in told[0]
    pages = sorted(path.name for path in (tmp_path / "run" / "transcripts").iterdir())
    assert pages == ["step-000001.md", "step-000002.md"]


def test_a_log_without_scorings_is_written_too(tmp_path: Path) -> None:
    observer = Observer(opened(tmp_path / "run"), STACK)
    log(observer, 3, loss=0.5)
    (record,) = records(tmp_path / "run" / "metrics.jsonl")
    assert record.keys() == {"step", "seconds", "loss"}
    assert not (tmp_path / "run" / "transcripts").exists()


def test_the_last_word_is_a_summary(tmp_path: Path) -> None:
    observer = Observer(opened(tmp_path / "run"), STACK)
    observer.observe(batch())
    log(observer, 10, loss=0.5)
    log(observer, 10, train_runtime=2.0, train_loss=0.5)
    observer.on_train_end(None, TrainerState(), TrainerControl())
    assert len(records(tmp_path / "run" / "metrics.jsonl")) == 1
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary == {"step": 10, "train_runtime": 2.0, "train_loss": 0.5}
    assert len(list((tmp_path / "run" / "plots").glob("*.png"))) == 4


def test_completions_after_the_last_log_are_not_lost(tmp_path: Path) -> None:
    observer = Observer(opened(tmp_path / "run"), STACK)
    observer.observe(batch())
    log(observer, 12, train_runtime=2.0)
    assert [record["step"] for record in records(tmp_path / "run" / "metrics.jsonl")] == [12]


def test_evaluation_is_kept_apart(tmp_path: Path) -> None:
    observer = Observer(opened(tmp_path / "run"), STACK)
    observer.trainer = SimpleNamespace(model=SimpleNamespace(training=True))
    observer.observe(batch())
    observer.trainer.model.training = False
    observer.observe(batch((VAGUE,), (CALL_TEXTS[0],)))
    log(observer, 4, eval_loss=0.1)
    log(observer, 5, loss=0.1)
    evaluated, trained = records(tmp_path / "run" / "metrics.jsonl")
    assert evaluated["eval_hallucinated/request_for_info"] == 1.0
    assert "accuracy/exact" not in evaluated
    assert trained["accuracy/exact"] == 0.25
    assert "user: I need a train." in (tmp_path / "run" / "transcripts" / "step-000005.md").read_text()


def test_only_rank_0_writes(tmp_path: Path) -> None:
    observer = Observer(RunDir(tmp_path / "run", writer=False), STACK)
    observer.observe(batch())
    log(observer, 1, loss=0.1)
    observer.on_train_end(None, TrainerState(), TrainerControl())
    assert not (tmp_path / "run").exists()
    assert observer.rows["train"] == []


def test_a_collapse_is_told_when_it_begins(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    observer = Observer(opened(tmp_path / "run"), STACK)
    always_call = batch((TRAIN,) * 40 + (VAGUE,) * 40, (CALL_TEXTS[0],) * 80)
    with caplog.at_level(logging.WARNING):
        for step in range(1, 4):
            observer.observe(always_call)
            log(observer, step)
    told = [entry.getMessage() for entry in caplog.records]
    assert len(told) == 2
    assert "tool_call is 100.0% of the completions and right on 50.0% of the rows" in told[0]
    assert "request_for_info is 0.0% of the completions" in told[1]
    assert [record["alarms"] for record in records(tmp_path / "run" / "metrics.jsonl")] == [2, 2, 2]


def test_a_resumed_run_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    first = Observer(opened(tmp_path / "run"), STACK)
    for step in (1, 2, 3):
        first.observe(batch())
        log(first, step)
    again = Observer(opened(tmp_path / "run", step=2), STACK)
    again.observe(batch())
    log(again, 3)
    assert [record["step"] for record in records(tmp_path / "run" / "metrics.jsonl")] == [1, 2, 3]


def test_plots_are_drawn_every_so_often_and_never_end_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    observer = Observer(opened(tmp_path / "run"), STACK)
    observer.observe(batch())
    log(observer, 1)
    assert not (tmp_path / "run" / "plots").exists()
    monkeypatch.setattr(module, "PLOT_EVERY_SECONDS", 0.0)
    log(observer, 2)
    assert len(list((tmp_path / "run" / "plots").iterdir())) == 4

    def broken(*_: object) -> None:
        raise RuntimeError("no font")

    monkeypatch.setattr(module, "draw", broken)
    log(observer, 3)
    assert "the plots could not be drawn" in caplog.text
    assert len(records(tmp_path / "run" / "metrics.jsonl")) == 3


def test_the_bar_stays_on_a_terminal_and_says_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from transformers.trainer_callback import CallbackHandler, PrinterCallback, ProgressCallback

    class Trainer:
        callback_handler = CallbackHandler([PrinterCallback(), ProgressCallback()], None, None, None, None)

        def pop_callback(self, kind: type) -> object:
            return self.callback_handler.pop_callback(kind)

        def add_callback(self, callback: object) -> None:
            self.callback_handler.add_callback(callback)

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    observer = Observer(opened(tmp_path / "run"), STACK)
    observer.attach(Trainer())
    handler = Trainer.callback_handler
    assert handler.callbacks[0] is observer
    assert handler.callbacks[-1] is observer.progress
    assert {type(callback) for callback in handler.callbacks} == {Observer, Progress}
    state = TrainerState(max_steps=100)
    handler.on_train_begin(None, state, TrainerControl())
    handler.on_log(None, TrainerState(global_step=1, max_steps=100), TrainerControl(), {"loss": 0.5})
    handler.on_train_end(None, state, TrainerControl())
    told = capsys.readouterr()
    assert told.out.count("step 1/100") == 1
    assert "'loss'" not in told.out
    assert "0/100" in told.err


def test_the_line_of_progress() -> None:
    assert line({"step": 100}, 100, 1.25) == "step 100/100 (1.2 s each)"
    assert line({"step": 10, "loss": 0.12345, "reward/total": 1.0}, 100, 60.0) == (
        "step 10/100 (60.0 s each, 1 h 30 min left) | reward 1.00 | loss 0.123"
    )
    assert line({"step": 1, "loss": None, "calibration/ece": 0.2}, 2, 1.0) == (
        "step 1/2 (1.0 s each, 1 s left) | ECE 0.20"
    )
    assert [duration(seconds) for seconds in (0.4, 89, 90, 5400, 11100)] == [
        "0 s", "89 s", "2 min", "1 h 30 min", "3 h 05 min",
    ]  # fmt: skip


TWO_RANKS = """
import sys
from accelerate import PartialState
from pathlib import Path
from tests.train.scored import CALL_TEXTS, ASK_TEXTS, STACK, TRAIN, VAGUE, batch
from tests.train.test_observe import log
from train.observe import Observer
from train.run_dir import RunDir

state = PartialState(cpu=True)
assert state.num_processes == 2, state.num_processes
rank = state.process_index
observer = Observer(RunDir(Path(sys.argv[1]), writer=rank == 0), STACK)
half = slice(rank, None, 2)  # each group spans the ranks
observer.observe(batch((TRAIN,) * 2 + (VAGUE,) * 2, CALL_TEXTS[half] + ASK_TEXTS[half]))
log(observer, 1)
state.wait_for_everyone()
state.destroy_process_group()
"""


@pytest.mark.slow
def test_two_ranks_read_as_one(tmp_path: Path) -> None:
    alone = Observer(opened(tmp_path / "one"), STACK)
    alone.observe(batch())
    log(alone, 1)
    (tmp_path / "two").mkdir()
    (tmp_path / "ranks.py").write_text(TWO_RANKS)
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2",
         str(tmp_path / "ranks.py"), str(tmp_path / "two")],
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    found = records(tmp_path / "two" / "metrics.jsonl")
    assert found, done.stderr[-2000:]
    (expected,) = records(tmp_path / "one" / "metrics.jsonl")
    assert len(found) == 1
    assert found[0].pop("confusion") == expected.pop("confusion")
    assert found[0] | {"seconds": 0} == pytest.approx(expected | {"seconds": 0})


@pytest.mark.slow
def test_with_the_real_trainer(tiny_qwen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from datasets import Dataset
    from transformers import TrainerCallback
    from transformers.trainer_callback import PrinterCallback, ProgressCallback
    from trl import GRPOConfig, GRPOTrainer

    from rewards.trl import reward_functions

    seen: list[dict[str, float]] = []

    class Tracker(TrainerCallback):
        def on_log(self, args, state, control, logs=None, **kwargs):
            seen.append(dict(logs))

    def train(steps: int, run_dir: RunDir) -> None:
        observer = Observer(run_dir, STACK)
        trainer = GRPOTrainer(
            model=str(tiny_qwen),
            reward_funcs=reward_functions(STACK, [TRAIN, VAGUE], observer.observe),
            train_dataset=Dataset.from_dict({"prompt": ["a train", "train"], "task_index": [0, 1]}),
            callbacks=[Tracker()],
            args=GRPOConfig(
                output_dir=str(run_dir.path), max_steps=steps, logging_steps=1, save_steps=2, seed=0,
                num_generations=2, per_device_train_batch_size=4, max_completion_length=4, use_cpu=True,
                bf16=False, report_to="none", gradient_checkpointing=False,
                reward_weights=list(STACK.weights),
            ),
        )  # fmt: skip
        observer.attach(trainer)
        kinds = [type(callback) for callback in trainer.callback_handler.callbacks]
        assert kinds[0] is Observer
        assert not {ProgressCallback, PrinterCallback, Progress} & set(kinds), "no terminal, no bar"
        trainer.train(resume_from_checkpoint=str(run_dir.checkpoint) if run_dir.checkpoint else None)

    recipe = {"trainer": {"max_steps": 3}}
    run_dir = RunDir.open(tmp_path / "run", recipe, {}, rank=0)
    train(3, run_dir)
    assert len(records(run_dir.path / "metrics.jsonl")) == 3
    again = RunDir.open(tmp_path / "run", {"trainer": {"max_steps": 4}}, {}, rank=0)
    assert again.step in (2, 3)
    train(4, again)
    found = records(run_dir.path / "metrics.jsonl")
    assert [record["step"] for record in found] == [1, 2, 3, 4]
    for record in found:
        assert sum(record[f"action/{name}"] for name in ACTIONS) == 1
        assert record["reward_seconds/format"] > 0
        assert record["reward"] == pytest.approx(record["reward/total"], abs=1e-5)
        assert record["rewards/tool_match/applies"] == 0.5
    assert seen[0]["action/direct"] == found[0]["action/direct"]
    assert (run_dir.path / "plots" / "rewards.png").is_file()
    assert (run_dir.path / "transcripts" / "step-000004.md").is_file()
    assert json.loads((run_dir.path / "summary.json").read_text())["step"] == 4
    told = capsys.readouterr().out
    assert "step 4/4 (" in told
    assert "learning_rate" not in told
