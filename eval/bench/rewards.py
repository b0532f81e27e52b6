"""`askrl bench rewards [FILE.jsonl]`: completions scored per second by the full stack, on one core.

Real When2Call test rows where they are at hand (FILE, or `data/when2call/test_llm_judge.jsonl` of
ASKRL_SHARED or of the folder `shared` beside the checkout), else the rows of the self-test. Tasks are parsed
beforehand. Every completion is a text of its own, so that no cache answers for the parser.
"""

import json
import statistics
import time
from collections.abc import Sequence

from eval.bench import rows_file
from rewards.stack import RewardStack, build
from tasks.completion import parse, render
from tasks.json_lines import read_rows
from tasks.tool_task import ToolTask
from tasks.when2call import parse_row

ROUNDS = 5
REPEATS = 10
REWARDS = (
    {"use": "format"},
    {"use": "tool_match"},
    {"use": "certainty"},
    {"use": "grounding_penalty", "weight": 0.2},
)


def run(arguments: Sequence[str]) -> int:
    """Print the time of each part and, as the last line, `completions_per_second` as JSON."""
    file = rows_file("rewards", arguments)
    tasks = [parse_row(row, f"{file}, row {number}") for number, row in read_rows(file)]
    pairs = [pair for task in tasks for pair in completions(task)]
    stack = build(REWARDS)
    print(f"{len(pairs)} completions of {len(tasks)} rows, {ROUNDS} rounds, rewards {', '.join(stack.names)}")
    measure(stack, pairs)  # warm-up: texts are tokenised once per task
    rates = [measure(stack, pairs) for _ in range(ROUNDS)]
    _, seconds = stack.score_batch([task for task, _ in pairs], [text for _, text in pairs])
    for name, value in seconds.items():
        print(f"{name}: {1e6 * value:.1f} microseconds per completion")
    print(
        json.dumps(
            {"completions_per_second": round(statistics.median(rates)), "rows": len(tasks), "file": file.name}
        )
    )
    return 0


def completions(task: ToolTask) -> list[tuple[ToolTask, str]]:
    """The row's answer of every class, each in several texts that differ."""
    found = []
    for kind, answer in task.answers.items():
        body = f"<tool_call>\n{answer}\n</tool_call>" if kind == "tool_call" else answer
        for i in range(REPEATS):
            found.append((task, render(f"What the tools need, against what was said, once more: {i}.", body)))
    return found


def measure(stack: RewardStack, pairs: Sequence[tuple[ToolTask, str]]) -> float:
    """Completions per second of processor time, with an empty parser cache."""
    parse.cache_clear()
    tasks, texts = [task for task, _ in pairs], [text for _, text in pairs]
    start = time.process_time()
    stack.score_batch(tasks, texts)
    return len(pairs) / (time.process_time() - start)
