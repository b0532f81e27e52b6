"""Generation with a Transformers model: batched, left-padded, sorted by length, with a seed for each request.

The decoding loop is our own because `model.generate` has no seed for a single row and keeps the logits of
every step (vocabulary x batch x length) when asked for log-probabilities.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from rollout.generators.checkpoint import stop_ids
from rollout.generators.likelihood import log_probabilities
from rollout.generators.protocol import Generation, Item, Logprobs, OnDone, OnScored, Request, Sampling
from tasks.errors import InputError

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
        self.stop_ids = stop_ids(model.generation_config, tokenizer)
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
        self.pad_id = int(pad or 0)

    async def generate(
        self, requests: Sequence[Request], sampling: Sampling, on_done: OnDone | None = None
    ) -> list[Generation]:
        """See `Generator`. Finished rows leave their batch at once; the longest prompts go first."""
        import torch

        if any(request.json_schema is not None for request in requests):
            raise InputError(
                "the transformers generator cannot keep to a JSON schema; take generator.kind: vllm"
            )
        generations: dict[int, Generation] = {}
        order = sorted(
            range(len(requests)), key=lambda i: (-len(requests[i].prompt_ids), requests[i].prompt_ids)
        )
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

    async def score(self, items: Sequence[Item], on_done: OnScored | None = None) -> list[list[Logprobs]]:
        """See `Generator`. The continuations of an item share its prefill."""
        training = self.model.training
        self.model.eval()
        try:
            return log_probabilities(self.model, items, self.batch_size, on_done)
        finally:
            self.model.train(training)

    def close(self) -> None:
        """See `Generator`: the model is the caller's."""

    def _batch(
        self, requests: Sequence[Request], batch: Sequence[int], sampling: Sampling
    ) -> Iterator[tuple[int, Generation]]:
        import torch
        from transformers import DynamicCache

        began = time.monotonic()
        device = self.model.device
        prompts = list(dict.fromkeys(requests[i].prompt_ids for i in batch))
        width = max(map(len, prompts))
        ids = torch.full((len(prompts), width), self.pad_id)
        mask = torch.zeros((len(prompts), width), dtype=torch.long)
        for place, prompt in enumerate(prompts):
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
            if len(logits) < len(alive):  # after the prefill: samples of one prompt part here
                place_of = {prompt: place for place, prompt in enumerate(prompts)}
                parted = torch.tensor(
                    [place_of[requests[row.index].prompt_ids] for row in alive], device=device
                )
                cache.batch_select_indices(parted)
                logits, mask, positions = logits[parted], mask[parted], positions[parted]
            tokens, logprobs = _draw(logits, sampling.temperature, [row.draws.random() for row in alive])
            keep = []
            for place, (row, token, logprob) in enumerate(zip(alive, tokens, logprobs, strict=True)):
                row.ids.append(token)
                row.logprobs.append(logprob)
                stopped = token in self.stop_ids
                if stopped or len(row.ids) == sampling.max_new_tokens:
                    seconds = time.monotonic() - began
                    yield (
                        row.index,
                        Generation(
                            tuple(row.ids), tuple(row.logprobs), "stop" if stopped else "length", seconds
                        ),
                    )
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
