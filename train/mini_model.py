"""`model: mini`: a tiny Qwen3 from config, its tokenizer made in process, warm-started once and cached.

The warm start imitates an over-eager demonstrator: it checks correctly which parameters were given, then in
four rows of five calls the tool anyway and invents the rest. That is the degenerate start from which GRPO has
to learn when to ask, the failure that arXiv 2511.08798 trains on.
"""

import hashlib
import json
import logging
import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tasks import mini
from tasks.prompt import render_prompt
from tasks.tool_task import ToolTask

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

logger = logging.getLogger(__name__)

TAGS = ("<reasoning>", "</reasoning>", "<answer>", "</answer>", "<tool_call>", "</tool_call>")
CONTROL = ("<pad>", "<unk>", "<|user|>", "<|assistant|>", "<|end|>")
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
class WarmStart:
    """Everything that shapes the tiny model; these values and the sources that use them key the cache."""

    seed: int = 0
    hidden: int = 64
    layers: int = 2
    heads: int = 4
    head_dim: int = 32
    intermediate: int = 128
    rows: int = 9000
    steps: int = 4500
    batch: int = 16
    learning_rate: float = 4e-3
    eager: float = 0.8
    """Share of demonstrations that call anyway and invent the rest."""


def tokenizer() -> "PreTrainedTokenizerFast":
    """Word-level; decoding gives valid JSON because quotes and underscores swallow the spaces beside them."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = dict.fromkeys(
        [*CONTROL, *TAGS, *PUNCTUATION, *mini.GLUE, *mini.VERBS, *mini.NOUNS, *mini.PARAMETERS, *mini.FLAGS]
        + [*mini.WORDS, *mini.NUMBERS, "name", "arguments", "true", "false"]
    )
    inner = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Split(Regex(r"[a-z0-9]+|_|[^a-z0-9_]+"), "isolated"),
        ]
    )
    glue = [('" ', '"'), (' "', '"'), (" _ ", "_")]
    inner.decoder = decoders.Sequence(
        [
            decoders.WordPiece(prefix="##", cleanup=False),
            decoders.Fuse(),
            *(decoders.Replace(a, b) for a, b in glue),
        ]
    )
    inner.add_tokens([AddedToken(tag, normalized=False) for tag in TAGS])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", unk_token="<unk>", eos_token="<|end|>",
        additional_special_tokens=["<|user|>", "<|assistant|>"], clean_up_tokenization_spaces=False,
        padding_side="left",
    )  # fmt: skip
    fast.chat_template = CHAT_TEMPLATE
    return fast


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
    sources = "".join(Path(str(file)).read_text(encoding="utf-8") for file in (__file__, mini.__file__))
    key = hashlib.sha256((json.dumps(asdict(recipe), sort_keys=True) + sources).encode()).hexdigest()[:16]
    cache = cache or Path(os.environ.get("ASKRL_CACHE") or Path.home() / ".cache" / "askrl")
    folder = cache / f"mini-{key}"
    if (folder / "config.json").is_file():
        return folder
    partial = cache / f"mini-{key}.{os.getpid()}.partial"
    model, words = warm_start(recipe)
    model.save_pretrained(partial)
    words.save_pretrained(partial)
    try:
        partial.rename(folder)  # atomic: a folder that exists is whole
    except OSError:  # another process was first
        shutil.rmtree(partial)
    return folder


def warm_start(recipe: WarmStart) -> "tuple[Qwen3ForCausalLM, PreTrainedTokenizerFast]":
    """Imitation: on whole sequences at first (copying is learned on prompts), then on completions alone."""
    import torch
    from tqdm import tqdm
    from transformers import Qwen3Config, Qwen3ForCausalLM, get_wsd_schedule

    words = tokenizer()
    torch.manual_seed(recipe.seed)
    config = Qwen3Config(
        vocab_size=len(words), hidden_size=recipe.hidden, intermediate_size=recipe.intermediate,
        num_hidden_layers=recipe.layers, num_attention_heads=recipe.heads, num_key_value_heads=recipe.heads,
        head_dim=recipe.head_dim, max_position_embeddings=512, tie_word_embeddings=True,
        initializer_range=0.05, rope_parameters={"rope_type": "default", "rope_theta": 100.0},
        bos_token_id=None, eos_token_id=words.eos_token_id, pad_token_id=words.pad_token_id, use_cache=True,
    )  # fmt: skip
    model = Qwen3ForCausalLM(config)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=recipe.learning_rate, betas=(0.9, 0.98), weight_decay=0.01
    )
    schedule = get_wsd_schedule(optimizer, 30, int(0.4 * recipe.steps), num_training_steps=recipe.steps)
    batches = _batches(recipe, words)
    for step in tqdm(range(recipe.steps), desc="warm start of the mini model", disable=None):
        ids, labels = next(batches)
        if step < 0.5 * recipe.steps:
            labels = torch.where(ids == words.pad_token_id, -100, ids)
        loss = model(input_ids=ids, attention_mask=(ids != words.pad_token_id).long(), labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    return model.eval(), words


def _batches(
    recipe: WarmStart, words: "PreTrainedTokenizerFast"
) -> "Iterator[tuple[torch.Tensor, torch.Tensor]]":
    """Endless (ids, labels), each (batch, length), right-padded; -100 on prompt and padding."""
    import torch

    rng = random.Random(f"mini/warm/{recipe.seed}")
    tasks = mini.load(mini.Config(train_rows=recipe.rows), "train", seed=10_000 + recipe.seed).tasks
    encoded = []
    for task in tasks:
        prompt = words(render_prompt(task, words))["input_ids"]
        target = [*words(demonstration(task, rng, recipe.eager))["input_ids"], words.eos_token_id]
        encoded.append((prompt, target))
    while True:
        rng.shuffle(encoded)
        for start in range(0, len(encoded) - recipe.batch + 1, recipe.batch):
            rows = encoded[start : start + recipe.batch]
            width = max(len(p) + len(t) for p, t in rows)
            ids = torch.full((len(rows), width), words.pad_token_id)
            labels = torch.full((len(rows), width), -100)
            for i, (p, t) in enumerate(rows):
                ids[i, : len(p) + len(t)] = torch.tensor(p + t)
                labels[i, len(p) : len(p) + len(t)] = torch.tensor(t)
            yield ids, labels
