"""Log-probabilities of several continuations of one context, the context's prefill shared between them.

The numbers are those of lm-evaluation-harness's `loglikelihood`, with the same truncation from the left. The
work is not: there each continuation pays for the whole context again, and for all its logits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rollout.generators.protocol import Ids, Item, Logprobs, OnScored

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel


def log_probabilities(
    model: "PreTrainedModel", items: Sequence[Item], batch_size: int = 4, on_done: OnScored | None = None
) -> list[list[Logprobs]]:
    """What each token of each continuation of each item scores, in order; `batch_size` contexts at a time."""
    import torch

    limit = int(model.config.get_text_config().max_position_embeddings)
    share = _can_share(model)
    units = sorted(_units(items, limit, share), key=lambda unit: (-len(unit.context), unit.item))
    scores: list[list[Logprobs]] = [[()] * len(item.continuations) for item in items]
    waiting = [len(item.continuations) for item in items]
    with torch.inference_mode():
        for start in range(0, len(units), batch_size):
            batch = units[start : start + batch_size]
            for unit, values in zip(batch, (_shared if share else _alone)(model, batch), strict=True):
                for (choice, _), value in zip(unit.choices, values, strict=True):
                    scores[unit.item][choice] = value
                waiting[unit.item] -= len(values)
                if not waiting[unit.item] and on_done is not None:
                    on_done(unit.item, scores[unit.item])
    return scores


@dataclass(frozen=True, slots=True)
class _Unit:
    """Continuations (by their place in the item) that share one context."""

    item: int
    context: Ids
    choices: tuple[tuple[int, Ids], ...]


def _units(items: Sequence[Item], limit: int, share: bool) -> Iterator[_Unit]:
    """One unit an item; one for each continuation where sharing is off or the context has to be cut."""
    for index, item in enumerate(items):
        if share and len(item.context) + max(map(len, item.continuations)) <= limit + 1:
            yield _Unit(index, item.context, tuple(enumerate(item.continuations)))
            continue
        for choice, continuation in enumerate(item.continuations):
            room = limit + 1 - len(continuation)
            if room < 1:
                raise ValueError(f"a continuation of {len(continuation)} tokens; the model takes {limit}")
            yield _Unit(index, item.context[-room:], ((choice, continuation),))


def _can_share(model: "PreTrainedModel") -> bool:
    """Whether every layer attends to all that came before, and takes a mask that says otherwise."""
    config = model.config.get_text_config()
    layers = set(getattr(config, "layer_types", None) or ["full_attention"])
    return layers == {"full_attention"} and config._attn_implementation in ("sdpa", "eager")


def _shared(model: "PreTrainedModel", units: Sequence[_Unit]) -> list[list[Logprobs]]:
    """Prefill each context but for its last token, then read all of its continuations in one row.

    The row is `last token, continuation, last token, continuation, …`: positions start again at each part,
    and the mask lets a part see the context and itself alone. So no answer is padded and no cache is copied.
    """
    import torch
    from transformers import DynamicCache

    device, dtype = model.device, model.dtype
    cache = DynamicCache(config=model.config)
    prefix, prefix_mask = _padded([unit.context[:-1] for unit in units], left=True)
    if prefix.shape[1]:
        positions = (prefix_mask.cumsum(1) - 1).clamp(min=0)
        model(
            input_ids=prefix.to(device), attention_mask=prefix_mask.to(device), past_key_values=cache,
            position_ids=positions.to(device), use_cache=True, logits_to_keep=1,
        )  # fmt: skip
    parts = [[(unit.context[-1], *target[:-1]) for _, target in unit.choices] for unit in units]
    ids, _ = _padded([[token for part in row for token in part] for row in parts], left=False)
    places, _ = _padded([[i for part in row for i in range(len(part))] for row in parts], left=False)
    owners, _ = _padded([[n for n, part in enumerate(row, 1) for _ in part] for row in parts], left=False)
    within = (owners[:, :, None] == owners[:, None, :]) & (places[:, :, None] >= places[:, None, :])
    before = prefix_mask.bool()[:, None, :].expand(-1, ids.shape[1], -1)
    hidden = ~torch.cat([before, within], dim=2)[:, None].to(device)  # (rows, 1, read, context + read)
    logits = model(
        input_ids=ids.to(device), position_ids=(prefix_mask.sum(1)[:, None] + places).to(device),
        attention_mask=torch.zeros(hidden.shape, dtype=dtype, device=device).masked_fill(
            hidden, torch.finfo(dtype).min
        ),
        past_key_values=cache, use_cache=True,
    ).logits  # fmt: skip
    return [
        _scores(row, [target for _, target in unit.choices]) for row, unit in zip(logits, units, strict=True)
    ]


def _alone(model: "PreTrainedModel", units: Sequence[_Unit]) -> list[list[Logprobs]]:
    """Units of one continuation each, read from the start."""
    targets = [unit.choices[0][1] for unit in units]
    ids, mask = _padded([(*unit.context, *unit.choices[0][1][:-1]) for unit in units], left=True)
    width = max(map(len, targets))
    logits = model(
        input_ids=ids.to(model.device), attention_mask=mask.to(model.device),
        position_ids=(mask.cumsum(1) - 1).clamp(min=0).to(model.device), logits_to_keep=width,
    ).logits  # fmt: skip
    return [
        _scores(row[width - len(target) :], [target]) for row, target in zip(logits, targets, strict=True)
    ]


def _scores(logits: "torch.Tensor", targets: Sequence[Ids]) -> list[Logprobs]:
    """Log-probabilities of targets; rows of `logits` (length x vocabulary) predict one after the other."""
    import torch

    ids = torch.tensor([token for target in targets for token in target], device=logits.device)
    logprobs = torch.log_softmax(logits[: len(ids)].float(), dim=-1).gather(1, ids[:, None]).squeeze(1)
    return [tuple(part.tolist()) for part in logprobs.split([len(target) for target in targets])]


def _padded(rows: Sequence[Sequence[int]], left: bool) -> "tuple[torch.Tensor, torch.Tensor]":
    """Values and mask, each (rows, longest row); the padding is 0."""
    import torch

    width = max(map(len, rows))
    values = torch.zeros((len(rows), width), dtype=torch.long)
    mask = torch.zeros_like(values)
    for place, row in enumerate(rows):
        where = slice(width - len(row), width) if left else slice(0, len(row))
        values[place, where] = torch.tensor(row, dtype=torch.long)
        mask[place, where] = 1
    return values, mask
