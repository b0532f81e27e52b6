"""What the policy wrote, for a person to read: best and worst completion of a few groups, in Markdown."""

import json
import re
from collections.abc import Mapping, Sequence

from rewards.stack import RewardSpec, StackScore
from rewards.trl import Batch
from tasks.completion import ACTIONS
from tasks.tool_schema import ToolCall, ToolSchema
from tasks.tool_task import ToolTask
from train.readings import certainty_of, earned, is_right

MOST_CHARACTERS = 4000
# Unprintable, or read by Markdown viewers and terminals as instructions; line ends and tabs stay.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def transcript(batch: Batch, specs: Mapping[str, RewardSpec], step: int, count: int) -> str:
    """A Markdown page on `count` groups of a batch; classes take turns, widest spread of rewards first."""
    totals = [sum(earned(score, specs, batch.step).values()) for score in batch.scores]
    pages = [f"# Step {step}\n"]
    for number, group in enumerate(pick(batch.tasks, totals, count), start=1):
        task = batch.tasks[group[0]]
        pages.append(f"## {number}. `{_inline(task.id)}`: gold `{task.gold}`\n\n{_given(task)}")
        best, worst = group[0], group[-1]
        named = [("Best", best), ("Worst", worst)] if totals[best] > totals[worst] else [("All alike", best)]
        for name, i in named:
            score = batch.scores[i]
            pages.append(
                f"### {name} of {len(group)}: `{score.completion.action}`, "
                f"{'right' if is_right(task, score) else 'wrong'}, reward {totals[i]:.3g}, "
                f"certainty {certainty_of(task, score):.3g}\n\n"
                f"{fenced(batch.texts[i])}\n{_table(score, specs, batch.step)}"
            )
    return "\n".join(pages)


def pick(tasks: Sequence[ToolTask], totals: Sequence[float], count: int) -> list[list[int]]:
    """Places of up to `count` groups, each from its best to its worst completion."""
    groups: dict[str, list[int]] = {}
    for i, task in enumerate(tasks):
        groups.setdefault(task.id, []).append(i)
    ordered = [sorted(group, key=lambda i: -totals[i]) for group in groups.values()]
    ordered.sort(key=lambda group: totals[group[-1]] - totals[group[0]])
    by_class = [[group for group in ordered if tasks[group[0]].gold == gold] for gold in ACTIONS]
    turns = max(map(len, by_class), default=0)
    return [queue[turn] for turn in range(turns) for queue in by_class if turn < len(queue)][:count]


def fenced(text: str) -> str:
    """A code block that its content cannot leave, cut to `MOST_CHARACTERS`, without control characters."""
    more = len(text) - MOST_CHARACTERS
    text = _CONTROL.sub("\ufffd", text[:MOST_CHARACTERS].replace("\r\n", "\n"))
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}\n" + (f"\n({more} more characters)\n" if more > 0 else "")


def _given(task: ToolTask) -> str:
    lines = [fenced("\n".join(f"{turn['role']}: {turn['content']}" for turn in task.messages))]
    lines += [f"* tool `{_inline(_signature(tool))}`" for tool in task.tools] or ["* no tools"]
    if task.gold_call is not None:
        lines.append(f"* gold call `{_inline(_call(task.gold_call))}`")
    if task.held_out is not None:
        lines.append(f"* to be asked for: `{_inline(task.held_out)}`")
    return "\n".join(lines) + "\n"


def _signature(tool: ToolSchema) -> str:
    names = (parameter.name + ("" if parameter.required else "?") for parameter in tool.parameters)
    return f"{tool.name}({', '.join(names)})"


def _call(call: ToolCall) -> str:
    return f"{call.name}{json.dumps(dict(call.arguments), ensure_ascii=False, default=str)}"


def _table(score: StackScore, specs: Mapping[str, RewardSpec], step: int) -> str:
    counts = earned(score, specs, step)
    lines = ["| reward | value | counts | why |", "|---|---:|---:|---|"]
    for name, column in score.columns.items():
        value = "-" if column.value is None else f"{column.value:.3g}"
        adds = f"{counts[name]:+.3g}" if name in counts else "-"
        numbers = [f"{part} {number:.3g}" for part, number in column.parts.items()]
        said = ", ".join([column.reason, *(one for one in numbers if one not in column.reason)])
        why = _inline(said).replace("<", "&lt;").replace("|", "\\|")
        lines.append(f"| {name} | {value} | {adds} | {why} |")
    return "\n".join(lines) + "\n"


def _inline(text: str) -> str:
    """Text of rows and completions on one line, unable to end a code span."""
    one_line = _CONTROL.sub("\ufffd", " ".join(text.split()))
    return (one_line if len(one_line) <= 300 else one_line[:297] + "...").replace("`", "'")
