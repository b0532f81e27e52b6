"""Generation with a Transformers model: batched, left-padded, sorted by length, with a seed for each request.

The decoding loop is our own because `model.generate` has no seed for a single row and keeps the logits of
every step (vocabulary x batch x length) when asked for log-probabilities.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from rollout.generators.protocol import Generation, OnDone, Request, Sampling

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(slots=True)
class _Row:
    """A request under way."""

    index: int
    draws: Random
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


class TransformersGenerator:
    """Generates with `model` as it is: its device, its weights of the moment, its adapter if it has one."""

    def __init__(
        self, model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", batch_size: int = 16
    ) -> None:
        self.model = model
        self.batch_size = batch_size
        self.stop_ids = _stop_ids(model, tokenizer)
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
        self.pad_id = int(pad or 0)

    async def generate(
        self, requests: Sequence[Request], sampling: Sampling, on_done: OnDone | None = None
    ) -> list[Generation]:
        """See `Generator`. Finished rows leave their batch at once; the longest prompts go first."""
        import torch

        generations: dict[int, Generation] = {}
        order = sorted(range(len(requests)), key=lambda i: (-len(requests[i].prompt_ids), i))
        training = self.model.training
        self.model.eval()
        try:
            with torch.inference_mode():
                for start in range(0, len(order), self.batch_size):
                    batch = order[start : start + self.batch_size]
                    for index, generation in self._batch(requests, batch, sampling):
                        generations[index] = generation
                        if on_done is not None:
                            on_done(index, generation)
        finally:
            self.model.train(training)
        return [generations[i] for i in range(len(requests))]

    def _batch(
        self, requests: Sequence[Request], batch: Sequence[int], sampling: Sampling
    ) -> Iterator[tuple[int, Generation]]:
        import torch
        from transformers import DynamicCache

        device = self.model.device
        width = max(len(requests[i].prompt_ids) for i in batch)
        ids = torch.full((len(batch), width), self.pad_id)
        mask = torch.zeros((len(batch), width), dtype=torch.long)
        for place, i in enumerate(batch):
            prompt = requests[i].prompt_ids
            ids[place, width - len(prompt) :] = torch.tensor(prompt)
            mask[place, width - len(prompt) :] = 1
        ids, mask = ids.to(device), mask.to(device)
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        cache = DynamicCache(config=self.model.config)
        alive = [_Row(i, Random(requests[i].seed)) for i in batch]
        while True:
            logits = self.model(
                input_ids=ids, attention_mask=mask, position_ids=positions, past_key_values=cache,
                use_cache=True, logits_to_keep=1,
            ).logits[:, -1]  # fmt: skip
            tokens, logprobs = _draw(logits, sampling.temperature, [row.draws.random() for row in alive])
            keep = []
            for place, (row, token, logprob) in enumerate(zip(alive, tokens, logprobs, strict=True)):
                row.ids.append(token)
                row.logprobs.append(logprob)
                if token in self.stop_ids:
                    yield row.index, Generation(tuple(row.ids), tuple(row.logprobs), "stop")
                elif len(row.ids) == sampling.max_new_tokens:
                    yield row.index, Generation(tuple(row.ids), tuple(row.logprobs), "length")
                else:
                    keep.append(place)
            if not keep:
                return
            positions = positions[:, -1:] + 1
            if len(keep) < len(alive):
                kept = torch.tensor(keep, device=device)
                cache.batch_select_indices(kept)
                mask, positions = mask[kept], positions[kept]
                alive = [alive[place] for place in keep]
            ids = torch.tensor([[row.ids[-1]] for row in alive], device=device)
            mask = torch.cat([mask, mask.new_ones((len(alive), 1))], dim=1)


def _draw(
    logits: "torch.Tensor", temperature: float, draws: Sequence[float]
) -> tuple[list[int], list[float]]:
    """One token for each row of `logits` (batch x vocabulary) and its log-probability.

    Inverse transform of one uniform number a row: cheap, and independent of the other rows.
    """
    import torch

    logprobs = torch.log_softmax(logits.float() / (temperature or 1.0), dim=-1)
    if temperature == 0.0:
        tokens = logprobs.argmax(-1)
    else:
        heap = logprobs.double().exp().cumsum(-1)
        targets = torch.tensor(draws, dtype=heap.dtype, device=heap.device).unsqueeze(1) * heap[:, -1:]
        tokens = torch.searchsorted(heap, targets, right=True).squeeze(1).clamp(max=logits.shape[-1] - 1)
    return tokens.tolist(), logprobs.gather(1, tokens.unsqueeze(1)).squeeze(1).tolist()


def _stop_ids(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase") -> frozenset[int]:
    configured = getattr(model.generation_config, "eos_token_id", None)
    listed = configured if isinstance(configured, list | tuple) else [configured]
    return frozenset(int(i) for i in (*listed, tokenizer.eos_token_id) if i is not None)
