import json
from pathlib import Path
from typing import Any

import pytest

from eval import multiple_choice as job
from eval.choice_prompt import Variant
from eval.multiple_choice import Choices, evaluate, readings
from rollout.generators.transformers import TransformersGenerator
from rollout.ledger import Ledger
from tasks import when2call
from tasks.completion import ACTIONS
from tasks.errors import InputError
from tasks.tool_task import ToolTask

OWN = Path(when2call.__file__).parent / "data" / "self_test.jsonl"


LABELS = ("direct", "tool_call", "request_for_info", "cannot_answer")


def choices(
    gold: str, scores: list[float], lengths: tuple[int, ...] = (1, 1, 1, 1), tools: int = 1
) -> Choices:
    return Choices("x", gold, tools, LABELS, lengths, (1, 1, 1, 1), tuple(scores))


def test_worked_example() -> None:
    """-10 over 20 bytes against -8 over 10: `acc` picks the second, `acc_norm` the first."""
    row = choices("direct", [-10, -8, -99, -99], (20, 10, 10, 10))
    assert (row.picked(), row.picked(row.bytes)) == ("tool_call", "direct")
    found = readings([row])
    assert (found["acc"], found["acc_norm"], found["acc_norm_characters"]) == (0.0, 1.0, 0.0)


def test_of_equals_the_first_is_picked() -> None:
    assert choices("direct", [-2, -1, -1, -2]).picked() == "tool_call"


def test_macro_f1_is_over_four_labels_and_tool_hallucination_over_rows_without_tools() -> None:
    rows = [
        choices("tool_call", [-9, -1, -9, -9]),
        choices("request_for_info", [-9, -9, -1, -9]),
        choices("cannot_answer", [-9, -9, -9, -1]),
    ]
    assert readings(rows)["macro_f1"] == 0.75  # the ceiling: direct is never gold
    assert readings(rows)["tool_hallucination"] is None
    rows += [
        choices("cannot_answer", [-9, -1, -9, -9], tools=0),
        choices("cannot_answer", [-9, -9, -9, -1], tools=0),
    ]
    assert readings(rows)["tool_hallucination"] == 0.5
    assert readings(rows)["no_tool_rows"] == 2
    assert "| 2 | tool_hallucination | 0.500 | 0.500 |" in job.markdown(readings(rows))


def own_tasks() -> list[ToolTask]:
    return list(when2call.load(when2call.Config(test=OWN), "test", seed=0).tasks)


@pytest.fixture(scope="module")
def model(tiny_qwen: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(tiny_qwen).eval()


def short_rows(tasks: list[ToolTask], n: int) -> list[ToolTask]:
    """Some of each class, short ones: lm-evaluation-harness makes logits for every token of the prompt."""
    tasks = sorted(tasks, key=lambda task: sum(map(len, task.raw_tools)))
    found = [task for gold in ACTIONS[:3] for task in [t for t in tasks if t.gold == gold][: n // 3]]
    return found + [task for task in tasks if not all(text.isascii() for text in task.answers.values())][:1]


def agree(model: Any, tokenizer: Any, tasks: list[ToolTask], variant: Variant, folder: Path) -> None:
    from tests.eval.lm_eval_twin import run

    theirs, likelihoods = run(model, tokenizer, tasks, variant, folder)
    rows = evaluate(TransformersGenerator(model, tokenizer, 3), tokenizer, tasks, variant)
    ours = readings(rows)
    for row, scores in zip(rows, likelihoods, strict=True):
        assert list(row.scores) == pytest.approx(scores, rel=1e-6)
    assert (ours["acc"], ours["acc_norm"], ours["macro_f1"]) == (
        theirs["acc"],
        theirs["acc_bytes"],
        theirs["f1"],
    )
    assert ours["acc_norm_characters"] == theirs["acc_norm"]


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["qwen", "plain"])
def test_equals_lm_eval_on_own_rows(
    model: Any, qwen_tokenizer: Any, variant: Variant, tmp_path: Path
) -> None:
    agree(model, qwen_tokenizer, short_rows(own_tasks(), 3), variant, tmp_path)


@pytest.mark.slow
def test_equals_lm_eval_on_real_rows(
    model: Any, qwen_tokenizer: Any, real_rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = when2call.load(when2call.Config(test=real_rows / "test_llm_judge.jsonl"), "test", seed=0).tasks
    monkeypatch.setattr(model.config, "max_position_embeddings", 300)  # so that some contexts are cut
    agree(model, qwen_tokenizer, short_rows(list(tasks), 6), "qwen", tmp_path)


def test_rows_that_are_done_are_not_scored_again(
    model: Any, qwen_tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = short_rows(own_tasks(), 6)
    generator = TransformersGenerator(model, qwen_tokenizer, 4)
    once = evaluate(generator, qwen_tokenizer, tasks[:2], ledger=Ledger(tmp_path / "l"), identity="m")
    asked: list[int] = []

    real = TransformersGenerator.score

    def spy(self: Any, items: Any, on_done: Any) -> Any:
        asked.append(len(items))
        return real(self, items, on_done)

    monkeypatch.setattr(TransformersGenerator, "score", spy)
    again = evaluate(generator, qwen_tokenizer, tasks, ledger=Ledger(tmp_path / "l"), identity="m")
    assert asked == [len(tasks) - 2]
    assert again[:2] == once
    other = evaluate(
        generator, qwen_tokenizer, tasks[:2], ledger=Ledger(tmp_path / "l"), identity="another model"
    )
    assert asked[-1] == 2
    assert [row.scores for row in other] == [pytest.approx(row.scores) for row in once]


def test_the_job(tiny_qwen: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = job.Config(
        model=str(tiny_qwen),
        task={"use": "when2call", "test": str(OWN)},
        output_dir=tmp_path,
        limit=3,
        variant="plain",
    )
    job.run(config)
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["report"]["n"] == 3
    assert results["settings"]["variant"] == "plain"
    assert len((tmp_path / "samples.jsonl").read_text().splitlines()) == 3
    assert "macro_f1" in capsys.readouterr().out


def test_training_rows_have_too_few_answers(tmp_path: Path) -> None:
    row = {
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}],
        "tools": [],
    }
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    task = {"use": "when2call", "test": str(tmp_path / "rows.jsonl")}
    with pytest.raises(InputError, match="only test rows carry all four"):
        job.run(job.Config(model="never/loaded", task=task, output_dir=tmp_path / "out"))


def test_values_out_of_range_are_named() -> None:
    with pytest.raises(InputError, match="limit is 0"):
        job.Config(model="m", task={}, output_dir=Path("x"), limit=0)
