"""A tiny Qwen3 from config that imitates demonstrations: made on first use, kept, keyed by content."""

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

Example = tuple[list[int], list[int]]
"""Token ids of a prompt and of what is to be said under it, its end included."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The model and how it is warmed up."""

    seed: int = 0
    hidden: int = 64
    layers: int = 2
    heads: int = 4
    head_dim: int = 32
    intermediate: int = 128
    steps: int = 4500
    batch: int = 16
    learning_rate: float = 4e-3
    sorted_batches: int = 1
    """So many batches at a time are drawn and sorted by length, which saves padding."""


S = TypeVar("S", bound=Shape)
Made = Callable[[S], "tuple[Qwen3ForCausalLM, PreTrainedTokenizerFast]"]


def kept(
    name: str, recipe: S, make: Made[S], sources: Sequence[ModuleType], cache: Path | None = None
) -> Path:
    """Folder of the model that `make` gives: made where recipe and sources are new to the cache."""
    files = (__file__, *(module.__file__ for module in sources))
    spelled = "".join(Path(str(file)).read_text(encoding="utf-8") for file in files)
    key = hashlib.sha256((json.dumps(asdict(recipe), sort_keys=True) + spelled).encode()).hexdigest()[:16]
    cache = cache or Path(os.environ.get("ASKRL_CACHE") or Path.home() / ".cache" / "askrl")
    folder = cache / f"{name}-{key}"
    if (folder / "config.json").is_file():
        return folder
    partial = cache / f"{folder.name}.{os.getpid()}.partial"
    model, words = make(recipe)
    model.save_pretrained(partial)
    words.save_pretrained(partial)
    try:
        partial.rename(folder)  # atomic: a folder that exists is whole
    except OSError:  # another process was first
        shutil.rmtree(partial)
    return folder


def imitate(
    recipe: Shape, words: "PreTrainedTokenizerFast", examples: list[Example], rng: random.Random
) -> "Qwen3ForCausalLM":
    """Learn whole sequences at first (copying is learned on prompts), then what is said alone."""
    import torch
    from tqdm import tqdm
    from transformers import Qwen3Config, Qwen3ForCausalLM, get_wsd_schedule

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
    batches = _batches(recipe, words, examples, rng)
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
    return model.eval()


def _batches(
    recipe: Shape, words: "PreTrainedTokenizerFast", examples: list[Example], rng: random.Random
) -> "Iterator[tuple[torch.Tensor, torch.Tensor]]":
    """Endless (ids, labels), each (batch, length), right-padded; -100 on prompt and padding."""
    import torch

    while True:
        rng.shuffle(examples)
        for rows in _drawn(recipe, examples, rng):
            width = max(len(p) + len(t) for p, t in rows)
            ids = torch.full((len(rows), width), words.pad_token_id)
            labels = torch.full((len(rows), width), -100)
            for i, (p, t) in enumerate(rows):
                ids[i, : len(p) + len(t)] = torch.tensor(p + t)
                labels[i, len(p) : len(p) + len(t)] = torch.tensor(t)
            yield ids, labels


def _drawn(recipe: Shape, examples: list[Example], rng: random.Random) -> Iterator[list[Example]]:
    """Whole batches of the shuffled examples, those of a window alike in length."""
    window = recipe.batch * recipe.sorted_batches
    for start in range(0, len(examples) - recipe.batch + 1, window):
        drawn = examples[start : start + window]
        if recipe.sorted_batches > 1:
            drawn.sort(key=lambda example: len(example[0]))
        batches = [drawn[i : i + recipe.batch] for i in range(0, len(drawn), recipe.batch)]
        rng.shuffle(batches)
        yield from (rows for rows in batches if len(rows) == recipe.batch)
