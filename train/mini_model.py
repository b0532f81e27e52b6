"""`model: mini`: a tiny Qwen3 from config, its tokenizer made in process, warm-started once and cached.

The warm start imitates an over-eager demonstrator: it checks correctly which parameters were given, then in
four rows of five calls the tool anyway and invents the rest. That is the degenerate start from which GRPO has
to learn when to ask, the failure that arXiv 2511.08798 trains on.
"""

import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tasks import mini
from tasks.prompt import render_prompt
from tasks.tool_task import ToolTask
from train import word_level
from train.warm_start import Shape, imitate, kept

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

TAGS = ("<reasoning>", "</reasoning>", "<answer>", "</answer>", "<tool_call>", "</tool_call>")
PUNCTUATION = (
    '{"',
    '":"',
    '","',
    '":{"',
    '":',
    ',"',
    "}}",
    '"}}',
    '"',
    '":{',
    "{",
    "}",
    "_",
    ",",
    ";",
    "?",
    ":",
    ".",
)

CHAT_TEMPLATE = """\
{%- for entry in tools or [] -%}
{%- set tool = entry.function -%}
tool {{ tool.name }}
{%- for name in tool.parameters.properties if name in tool.parameters.required %} {{ name }}{% endfor %} ?
{%- for name in tool.parameters.properties if name not in tool.parameters.required %} {{ name }}{% endfor %}
{%- for name, schema in tool.parameters.properties.items() %}
{%- if schema.enum is defined %} ; {{ name }}{% for value in schema.enum %} {{ value }}{% endfor %}
{%- elif schema.type != 'string' %} ; {{ name }} {{ 'flag' if schema.type == 'boolean' else 'number' }}
{%- endif %}
{%- endfor %} .
{% endfor -%}
{%- for message in messages -%}
{%- if message.role == 'user' %}<|user|> {{ message.content }}
{% elif message.role == 'assistant' %}<|assistant|> {{ message.content }}<|end|>
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}<|assistant|>{% endif -%}
"""
"""A tool is its name, required parameters, `?`, optional ones; then choices, and types other than text."""


@dataclass(frozen=True, slots=True)
class WarmStart(Shape):
    """Everything that shapes the tiny model; these values and the sources that use them key the cache."""

    rows: int = 9000
    eager: float = 0.8
    """Share of demonstrations that call anyway and invent the rest."""


def tokenizer() -> "PreTrainedTokenizerFast":
    """Word-level; decoding gives valid JSON because quotes and underscores swallow the spaces beside them."""
    from tokenizers import Regex, pre_tokenizers

    words = [*PUNCTUATION, *mini.GLUE, *mini.VERBS, *mini.NOUNS, *mini.PARAMETERS, *mini.FLAGS, *mini.WORDS]
    words += [*mini.NUMBERS, "name", "arguments", "true", "false"]
    split = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Split(Regex(r"[a-z0-9]+|_|[^a-z0-9_]+"), "isolated"),
        ]
    )
    glue = [('" ', '"'), (' "', '"'), (" _ ", "_")]
    return word_level.tokenizer(words, TAGS, split, glue, CHAT_TEMPLATE)


def demonstration(task: ToolTask, rng: random.Random, eager: float) -> str:
    """A completion for `task`: honest reasoning, then with probability `eager` a call whatever is missing."""
    row = task.source
    action = "tool_call" if rng.random() < eager else row["correct_answer"]
    call = json.loads(row["answers"]["tool_call"])
    if row["correct_answer"] == "cannot_answer":
        thought = "nothing fits"
        if action == "tool_call" and task.tools:  # the nearest tool at hand, all of its arguments made up
            tool = rng.choice([json.loads(t) for t in row["tools"]])
            properties = tool["parameters"]["properties"]
            call = {
                "name": tool["name"],
                "arguments": {p: mini.invent(rng, properties[p]) for p in tool["parameters"]["required"]},
            }
    else:
        schema = json.loads(row["target_tool"])["parameters"]
        given = {p: "yes" for p in call["arguments"] if p != row.get("held_out_param")}
        silent = {p: "no" if p in schema["required"] else "skip" for p in schema["properties"]}
        checks = (f"{p} {given.get(p, silent[p])}" for p in schema["properties"])
        thought = " ".join([call["name"], *checks])
    body = (
        f"<tool_call>{json.dumps(call, separators=(',', ':'))}</tool_call>"
        if action == "tool_call"
        else row["answers"][action]
    )
    return f"<reasoning>{thought}</reasoning><answer>{body}</answer>"


def build(recipe: WarmStart, cache: Path | None = None) -> Path:
    """Folder of the warm-started model; made on first use, in a cache keyed by content."""
    return kept("mini", recipe, warm_start, (sys.modules[__name__], word_level, mini), cache)


def warm_start(recipe: WarmStart) -> "tuple[Qwen3ForCausalLM, PreTrainedTokenizerFast]":
    """The tiny model after it has imitated demonstrations, and its tokenizer."""
    words = tokenizer()
    rng = random.Random(f"mini/warm/{recipe.seed}")
    tasks = mini.load(mini.Config(train_rows=recipe.rows), "train", seed=10_000 + recipe.seed).tasks
    examples = []
    for task in tasks:
        prompt = words(render_prompt(task, words))["input_ids"]
        target = [*words(demonstration(task, rng, recipe.eager))["input_ids"], words.eos_token_id]
        examples.append((prompt, target))
    return imitate(recipe, words, examples, rng), words
