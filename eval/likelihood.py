"""Log-likelihoods of several continuations of one context, the context's prefill shared between them.

The numbers are those of lm-evaluation-harness's `loglikelihood`: same split into tokens, same truncation from
the left. The work is not: there each continuation pays for the whole context again, and for all its logits.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Ids = tuple[int, ...]
OnDone = Callable[[int, list[float]], None]
"""Called with (index of the item, its log-likelihoods) as soon as they are known, in any order."""


@dataclass(frozen=True, slots=True)
class Item:
    """A context (at least one token) and its continuations (at least one token each)."""

    context: Ids
    continuations: tuple[Ids, ...]


def encode(tokenizer: "PreTrainedTokenizerBase", context: str, continuations: Sequence[str]) -> Item:
    """Tokens of a non-empty context and its continuations.

    White space at the end of the context moves to the continuations; both are tokenised as one text and cut
    at the length of the context's own tokens; a context that spells out its first special token gets no
    second one. All as lm-evaluation-harness does.
    """
    bare = context.rstrip()
    tail = context[len(bare) :]
    special = not (tokenizer.bos_token and bare.startswith(tokenizer.bos_token))
    head, *wholes = (
        tokenizer(text, add_special_tokens=special)["input_ids"]
        for text in (bare, *(bare + tail + continuation for continuation in continuations))
    )
    return Item(tuple(head), tuple(tuple(whole[len(head) :]) for whole in wholes))


def log_likelihoods(
    model: "PreTrainedModel", items: Sequence[Item], batch_size: int = 4, on_done: OnDone | None = None
) -> list[list[float]]:
    """Summed log-probability of each continuation of each item, in order; `batch_size` contexts at a time."""
    import torch

    limit = int(model.config.get_text_config().max_position_embeddings)
    units = sorted(_units(items, limit), key=lambda unit: (-len(unit.context), unit.item))
    scores = [[0.0] * len(item.continuations) for item in items]
    waiting = [len(item.continuations) for item in items]
    with torch.inference_mode():
        for start in range(0, len(units), batch_size):
            batch = units[start : start + batch_size]
            for unit, choice, value in _score(model, batch):
                scores[unit.item][choice] = value
                waiting[unit.item] -= 1
                if not waiting[unit.item] and on_done is not None:
                    on_done(unit.item, scores[unit.item])
    return scores


@dataclass(frozen=True, slots=True)
class _Unit:
    """Continuations (by their place in the item) that share one context."""

    item: int
    context: Ids
    choices: tuple[tuple[int, Ids], ...]


def _units(items: Sequence[Item], limit: int) -> Iterator[_Unit]:
    """One unit an item; where a continuation needs the context cut, one for each continuation."""
    for index, item in enumerate(items):
        if len(item.context) + max(map(len, item.continuations)) <= limit + 1:
            yield _Unit(index, item.context, tuple(enumerate(item.continuations)))
            continue
        for choice, continuation in enumerate(item.continuations):
            room = limit + 1 - len(continuation)
            if room < 1:
                raise ValueError(f"a continuation of {len(continuation)} tokens; the model takes {limit}")
            yield _Unit(index, item.context[-room:], ((choice, continuation),))


def _score(model: "PreTrainedModel", units: Sequence[_Unit]) -> "Iterator[tuple[_Unit, int, float]]":
    """Prefill each context but for its last token, then read all continuations behind copies of the cache."""
    import torch
    from transformers import DynamicCache

    device = model.device
    cache = DynamicCache(config=model.config)
    prefixes = [unit.context[:-1] for unit in units]
    ids, mask = _padded(prefixes, left=True)
    if ids.shape[1]:
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        model(
            input_ids=ids.to(device), attention_mask=mask.to(device), position_ids=positions.to(device),
            past_key_values=cache, use_cache=True, logits_to_keep=1,
        )  # fmt: skip
    rows = [(place, choice) for place, unit in enumerate(units) for choice in range(len(unit.choices))]
    owners = torch.tensor([place for place, _ in rows])
    targets = [units[place].choices[choice][1] for place, choice in rows]
    if ids.shape[1]:
        cache.batch_select_indices(owners.to(device))
    # The context's last token predicts the first of the continuation, so it is read here, in each copy.
    reads = [
        (units[place].context[-1], *target[:-1]) for (place, _), target in zip(rows, targets, strict=True)
    ]
    ids, tail = _padded(reads, left=False)
    lengths = torch.tensor([len(prefixes[place]) for place, _ in rows])
    logits = model(
        input_ids=ids.to(device), attention_mask=torch.cat([mask[owners], tail], dim=1).to(device),
        position_ids=(lengths[:, None] + torch.arange(ids.shape[1])).to(device),
        past_key_values=cache, use_cache=True,
    ).logits  # fmt: skip
    for row, ((place, choice), target) in enumerate(zip(rows, targets, strict=True)):
        logprobs = torch.log_softmax(logits[row, : len(target)].float(), dim=-1)
        value = logprobs.gather(1, torch.tensor(target, device=device)[:, None]).sum()
        yield units[place], units[place].choices[choice][0], float(value)


def _padded(rows: Sequence[Sequence[int]], left: bool) -> "tuple[torch.Tensor, torch.Tensor]":
    """Ids and mask, each (rows, longest row)."""
    import torch

    width = max(map(len, rows))
    ids = torch.zeros((len(rows), width), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for place, row in enumerate(rows):
        where = slice(width - len(row), width) if left else slice(0, len(row))
        ids[place, where] = torch.tensor(row, dtype=torch.long)
        mask[place, where] = 1
    return ids, mask
