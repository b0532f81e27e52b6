import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eval import when2call as job
from rollout import generators
from rollout.generators import Generation, Request, Sampling
from rollout.generators.protocol import OnDone
from rollout.generators.scripted import Scripted
from rollout.ledger import Ledger
from tasks import when2call
from tasks.completion import render
from tasks.errors import InputError
from tasks.tool_schema import ToolCall
from tasks.tool_task import ToolTask

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TOOL = {
    "name": "get_weather",
    "description": "Weather of a city.",
    "parameters": {"type": "dict", "required": ["city"], "properties": {"city": {"type": "string"}}},
}
ANSWERS = {
    "direct": "It is sunny.",
    "tool_call": json.dumps({"name": "get_weather", "arguments": {"city": "Leeds"}}),
    "request_for_info": "Which city do you mean?",
    "cannot_answer": "Sorry, I cannot do that.",
}


def rows() -> list[dict[str, Any]]:
    questions = {
        "tool_call": "Weather in Leeds, please.",
        "request_for_info": "How is the weather?",
        "cannot_answer": "Book a train to Leeds.",
    }
    return [
        {
            "uuid": f"{gold}-{i}", "question": question, "correct_answer": gold, "answers": ANSWERS,
            "tools": [] if gold == "cannot_answer" and i else [json.dumps(TOOL)],
        }
        for i in range(2)
        for gold, question in questions.items()
    ]  # fmt: skip


TASKS = [when2call.parse_row(row, f"row {i}") for i, row in enumerate(rows(), 1)]
LEEDS = ToolCall("get_weather", {"city": "Leeds"})


def always(tokenizer: "PreTrainedTokenizerBase", text: str) -> Scripted:
    ids = [*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    return Scripted(lambda request: ids)


def test_always_calling(qwen_tokenizer: "PreTrainedTokenizerBase") -> None:
    report = job.evaluate(always(qwen_tokenizer, render("Leeds is given.", LEEDS)), TASKS, qwen_tokenizer)
    assert report.accuracy == pytest.approx(1 / 3)
    assert (report.hallucinated_missing, report.hallucinated_unfit, report.hallucinated_no_tool) == (
        1.0,
        1.0,
        1.0,
    )
    assert report.exact_calls == 1.0
    assert report.calibration.n == 6
    assert [s.certainty for s in report.samples[:2]] == [
        1.0,
        pytest.approx(1e-4),
    ]  # Leeds is said, or made up
    assert all(s.well_formed and s.stop == "stop" for s in report.samples)


def test_always_asking(qwen_tokenizer: "PreTrainedTokenizerBase") -> None:
    generator = always(qwen_tokenizer, render("No city.", "Which city do you mean?"))
    report = job.evaluate(generator, TASKS, qwen_tokenizer)
    assert report.recall == {"tool_call": 0.0, "request_for_info": 1.0, "cannot_answer": 0.0}
    assert report.hallucinated_missing == 0.0
    assert report.calibration.n == 0
    assert report.exact_calls == 0.0


def test_the_certainty_can_be_any_function(qwen_tokenizer: "PreTrainedTokenizerBase") -> None:
    generator = always(qwen_tokenizer, render("", LEEDS))
    report = job.evaluate(generator, TASKS, qwen_tokenizer, certainty=lambda task, completion: 0.5)
    assert report.calibration.brier == 0.25


def test_no_tasks_is_an_error(qwen_tokenizer: "PreTrainedTokenizerBase") -> None:
    with pytest.raises(ValueError, match="no tasks"):
        job.evaluate(always(qwen_tokenizer, "x"), [], qwen_tokenizer)


class DiesAfter(Scripted):
    """Answers so many requests, then is killed."""

    def __init__(self, lives: int) -> None:
        super().__init__(lambda request: ())
        self.lives = lives
        self.asked: list[Request] = []

    async def generate(
        self, requests: Sequence[Request], sampling: Sampling, on_done: OnDone | None = None
    ) -> list[Generation]:
        found = []
        for i, request in enumerate(requests):
            if len(self.asked) == self.lives:
                raise KeyboardInterrupt
            self.asked.append(request)
            found.append(Generation((request.seed % 1000,), (-1.0,), "stop"))
            if on_done is not None:
                on_done(i, found[-1])
        return found


def test_a_killed_evaluation_goes_on_where_it_stopped(
    qwen_tokenizer: "PreTrainedTokenizerBase", tmp_path: Path
) -> None:
    def evaluate(generator: Any, **change: Any) -> Any:
        ledger = Ledger(tmp_path / "ledger.jsonl")
        return job.evaluate(generator, TASKS, qwen_tokenizer, ledger=ledger, **{"identity": "m", **change})

    first, second, third, fourth = DiesAfter(4), DiesAfter(99), DiesAfter(99), DiesAfter(99)
    with pytest.raises(KeyboardInterrupt):
        evaluate(first)
    report = evaluate(second)
    assert len(second.asked) == 2
    assert evaluate(third) == report
    assert not third.asked
    whole = DiesAfter(99)
    assert job.evaluate(whole, TASKS, qwen_tokenizer) == report  # the same as in one go
    for change in ({"identity": "n"}, {"seed": 1}, {"sampling": Sampling(7, 0.0)}):
        fourth.asked.clear()
        evaluate(fourth, **change)
        assert len(fourth.asked) == 6, f"{change} is other work"


def test_the_job(tiny_qwen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows()))
    config = job.Config(
        model=str(tiny_qwen), task={"use": "when2call", "test": str(file)}, output_dir=tmp_path / "out",
        generator=generators.Transformers(batch_size=3), max_new_tokens=8, temperature=1.0, limit=4,
        max_prompt_length=2000,
    )  # fmt: skip
    job.run(config)
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["report"]["n"] == 4
    assert results["data"]["counts"] == {"kept": 4, "over_limit": 2, "prompt_too_long": 0}
    assert results["settings"]["task"]["use"] == "when2call"
    first = (tmp_path / "out" / "generations.jsonl").read_bytes()
    job.run(config)
    assert (tmp_path / "out" / "generations.jsonl").read_bytes() == first
    assert "accuracy" in capsys.readouterr().out


def test_only_the_first_rank_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    job.run(job.Config(model="none", task={}, output_dir=tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"limit": 0}, "limit"),
        ({"max_new_tokens": 0}, "max_new_tokens"),
        ({"temperature": -1.0}, "temperature"),
    ],
)
def test_values_out_of_range_are_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        job.Config(**{"model": "m", "task": {}, "output_dir": Path("x"), **change})


def test_an_unknown_task_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'when2call'"):
        job.run(job.Config(model="m", task={"use": "when2cal"}, output_dir=tmp_path))


def test_tasks_are_spread_over_the_file() -> None:
    from tasks.sources import spread
    from tasks.tool_task import TaskSet

    tasks = TaskSet(tuple(TASKS), {"kept": 6}, {})
    kept: tuple[ToolTask, ...] = spread(tasks, 3).tasks
    assert [task.id for task in kept] == [TASKS[0].id, TASKS[2].id, TASKS[4].id]
    assert spread(tasks, 6) is spread(tasks, None) is tasks
