"""The multiple-choice protocol as a task of lm-evaluation-harness, to compare with."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.choice_prompt import Variant, answers, prompt
from tasks.completion import ACTIONS
from tasks.tool_task import ToolTask

# Documents carry prompt and choices ready-made, so that nothing but the scoring is compared.
TASK = """\
task: choices
dataset_path: json
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{prompt}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: gold
target_delimiter: ""
metric_list:
  - {{metric: acc, aggregation: mean, higher_is_better: true}}
  - {{metric: acc_norm, aggregation: mean, higher_is_better: true}}
  - {{metric: acc_bytes, aggregation: mean, higher_is_better: true}}
  - {{metric: f1, aggregation: !function metric.macro_f1, higher_is_better: true}}
"""
METRIC = """\
def macro_f1(items):
    from sklearn.metrics import f1_score
    gold, predicted = zip(*items)
    return f1_score(gold, predicted, labels=[0, 1, 2, 3], average="macro", zero_division=0)
"""


def run(
    model: Any, tokenizer: Any, tasks: Sequence[ToolTask], variant: Variant, folder: Path, **limits: Any
) -> tuple[dict[str, float], list[list[float]]]:
    """Metrics and the log-likelihoods of every row, by lm-evaluation-harness."""
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    rows = folder / "rows.jsonl"
    with rows.open("w", encoding="utf-8") as file:
        for task in tasks:
            assert tuple(sorted(answers(task))) == tuple(sorted(ACTIONS))
            choices = {"choices": list(answers(task).values()), "gold": list(answers(task)).index(task.gold)}
            file.write(json.dumps({"prompt": prompt(task, variant), **choices}) + "\n")
    (folder / "choices.yaml").write_text(TASK.format(rows=rows))
    (folder / "metric.py").write_text(METRIC)
    found = simple_evaluate(
        HFLM(pretrained=model, tokenizer=tokenizer, batch_size=1, **limits),
        tasks=["choices"],
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        bootstrap_iters=0,
        log_samples=True,
    )
    assert found is not None
    metrics = {name.split(",")[0]: value for name, value in found["results"]["choices"].items()}
    samples = sorted(found["samples"]["choices"], key=lambda sample: sample["doc_id"])
    return metrics, [[float(score) for (score, _), *_ in sample["resps"]] for sample in samples]
