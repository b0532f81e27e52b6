"""`askrl bench rollout`: what the form of a rollout is worth, on real vLLM engines and random models.

* `async_over_lockstep`: rollouts a second where each dialogue goes on as soon as it has its reply, over those
  of waves in which every turn waits for the slowest. Dialogues have a geometric number of turns (mean 4) of
  log-normal length (median 32 tokens, sigma 0.8, 4 to 200).
* `shared_prefill_speedup`: eight samples of a prompt of 700 tokens, over eight prompts of as many tokens that
  share no prefix, which is what caching off costs.
* `swap_over_full_load`: publishing an adapter (save, load, remove) to an engine of a 0.5 B-parameter shape,
  over merging it, copying and writing all weights, before any engine has read them.
* `engine_busy`: share of the asynchronous run in which the engine had at least one request.

Rounds of both sides alternate and the fastest of each counts: other work can only slow a side down.
"""

import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from rollout.gather import gather
from rollout.generators import GenerationError, Generator, Needs, Request, Sampling, Vllm
from tasks.errors import InputError

DIALOGUES, CONCURRENCY, MEAN_TURNS = 256, 64, 4
PROMPT, REPLY = 96, 16
PROMPTS, SAMPLES, LONG, NEW = 16, 8, 700, 16
VOCABULARY = 1024
SMALL = {
    "vocab_size": VOCABULARY, "hidden_size": 256, "intermediate_size": 768, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 8192,
}  # fmt: skip
"""Small enough that, as on a GPU, a step takes about as long for a few requests as for many."""
HALF_BILLION = {
    "vocab_size": 151_936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
    "num_attention_heads": 14, "num_key_value_heads": 2, "max_position_embeddings": 8192,
}  # fmt: skip
"""Qwen2.5-0.5B."""


def run(arguments: Sequence[str]) -> int:
    """Print each round and, as the last line, the four numbers as JSON."""
    if arguments:
        raise InputError(f"askrl bench rollout takes no arguments, not {' '.join(arguments)}")
    with tempfile.TemporaryDirectory() as folder:
        small = random_model(SMALL, Path(folder) / "small")
        with engine_of(small, Needs(max_model_len=8192)) as engine:
            result = _multi_turn(engine) | _shared_prefill(engine)
        result |= _swap(random_model(HALF_BILLION, Path(folder) / "half_billion"), Path(folder))
    print(json.dumps(result))
    return 0


@dataclass(slots=True)
class Busy:
    """A generator that measures how long it has had something to do."""

    generator: Generator
    seconds: float = 0.0
    _under_way: int = 0
    _since: float = 0.0

    async def turn(self, prompt: list[int], seed: int, length: int) -> list[int]:
        """The ids of one completion of exactly this length. Raises GenerationError for any other."""
        if not self._under_way:
            self._since = time.perf_counter()
        self._under_way += 1
        (found,) = await self.generator.generate([Request(tuple(prompt), seed)], Sampling(length))
        self._under_way -= 1
        if not self._under_way:
            self.seconds += time.perf_counter() - self._since
        if len(found.token_ids) != length:
            raise GenerationError(f"a turn of {len(found.token_ids)} tokens where {length} were asked for")
        return list(found.token_ids)


def dialogues(count: int, seed: int) -> list[list[int]]:
    """The lengths of each dialogue's turns."""
    random = Random(seed)

    def turns() -> int:
        number = 1
        while random.random() > 1 / MEAN_TURNS:
            number += 1
        return number

    return [
        [min(200, max(4, round(32 * random.lognormvariate(0.0, 0.8)))) for _ in range(turns())]
        for _ in range(count)
    ]


def prompt_ids(seed: int, length: int) -> list[int]:
    """Ids of a prompt that no other seed's begins like."""
    random = Random(seed)
    return [random.randrange(10, VOCABULARY) for _ in range(length)]


async def asynchronous(engine: Busy, work: list[list[int]], seed: int) -> None:
    """Each dialogue at its own pace, `CONCURRENCY` at a time."""
    gate = asyncio.Semaphore(CONCURRENCY)

    async def one(index: int, lengths: list[int]) -> None:
        async with gate:
            context = prompt_ids(seed + index, PROMPT)
            for number, length in enumerate(lengths):
                context += await engine.turn(context, number, length) + prompt_ids(number, REPLY)

    await gather(one(i, lengths) for i, lengths in enumerate(work))


async def lockstep(engine: Busy, work: list[list[int]], seed: int) -> None:
    """Waves of `CONCURRENCY` dialogues; a turn begins when all turns before it have ended."""
    for start in range(0, len(work), CONCURRENCY):
        wave = work[start : start + CONCURRENCY]
        contexts = [prompt_ids(seed + start + i, PROMPT) for i in range(len(wave))]
        for number in range(max(map(len, wave))):
            alive = [i for i, lengths in enumerate(wave) if len(lengths) > number]
            found = await gather(engine.turn(contexts[i], number, wave[i][number]) for i in alive)
            for i, ids in zip(alive, found, strict=True):
                contexts[i] += ids + prompt_ids(number, REPLY)


def _multi_turn(engine: Generator) -> dict[str, Any]:
    work = dialogues(DIALOGUES, seed=0)
    asyncio.run(asynchronous(Busy(engine), work[:32], 10**6))  # warm-up
    seconds: dict[str, list[float]] = {"asynchronous": [], "lockstep": []}
    shares: list[float] = []
    for number in range(2):
        for form in (asynchronous, lockstep):
            busy, began = Busy(engine), time.perf_counter()
            # Other prompts each time, so that nobody finds the prefixes of an earlier round.
            asyncio.run(form(busy, work, (2 + len(shares) + 10 * number) * 10**4 + len(form.__name__)))
            spent = time.perf_counter() - began
            seconds[form.__name__].append(spent)
            print(f"round {number + 1}: {form.__name__} {len(work) / spent:.1f} rollouts/s", flush=True)
            if form is asynchronous:
                shares.append(busy.seconds / spent)
    best = {name: min(times) for name, times in seconds.items()}
    return {
        "async_over_lockstep": round(best["lockstep"] / best["asynchronous"], 2),
        "rollouts_per_second": round(len(work) / best["asynchronous"], 1),
        "engine_busy": round(min(shares), 3),
        "turns": sum(map(len, work)),
        "new_tokens": sum(map(sum, work)),
    }


def _shared_prefill(engine: Generator) -> dict[str, Any]:
    sides: dict[str, list[float]] = {"shared": [], "apart": []}
    for number in range(3):
        for side, times in sides.items():
            first = 10**7 * (1 + number) + 10**6 * len(side)
            requests = [
                Request(tuple(prompt_ids(first + (i if side == "shared" else i * SAMPLES + n), LONG)), n)
                for i in range(PROMPTS)
                for n in range(SAMPLES)
            ]
            began = time.perf_counter()
            found = asyncio.run(engine.generate(requests, Sampling(NEW)))
            times.append(time.perf_counter() - began)
            cached = sum(one.cached_tokens for one in found) / (LONG * len(found))
            print(f"round {number + 1}: {side} {times[-1]:.1f} s, {cached:.0%} cached", flush=True)
    return {"shared_prefill_speedup": round(min(sides["apart"]) / min(sides["shared"]), 2)}


def _swap(folder: Path, scratch: Path) -> dict[str, Any]:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    from train.adapter_files import save_adapter
    from train.rollouts import publishing_folder

    policy = get_peft_model(
        AutoModelForCausalLM.from_pretrained(folder), LoraConfig(r=16, target_modules="all-linear")
    )
    published = publishing_folder(scratch, rank=0)
    full, swap = [], []
    for _ in range(2):
        began = time.perf_counter()
        policy.merge_adapter()
        weights = {
            name: value.detach().clone() for name, value in policy.base_model.model.state_dict().items()
        }
        policy.base_model.model.save_pretrained(scratch / "full", state_dict=weights)
        full.append(time.perf_counter() - began)
        policy.unmerge_adapter()
        shutil.rmtree(scratch / "full")
        print(f"full load: {full[-1]:.2f} s", flush=True)
    with engine_of(folder, Needs(max_model_len=256, lora_rank=16)) as engine:
        for number in range(5):
            began = time.perf_counter()
            save_adapter(policy, published / f"v{number}")
            asyncio.run(engine.load_adapter(published / f"v{number}", number))
            swap.append(time.perf_counter() - began)
            print(f"swap: {swap[-1] * 1000:.0f} ms", flush=True)
    shutil.rmtree(published)
    return {
        "swap_over_full_load": round(min(swap[1:]) / min(full), 4),  # the first has nothing to remove
        "swap_ms": round(min(swap[1:]) * 1000),
        "full_load_s": round(min(full), 2),
    }


@contextmanager
def engine_of(folder: Path, needs: Needs) -> Iterator[Any]:
    """An engine of the model in `folder`, with a quarter of the machine's memory."""
    from rollout.generators.vllm import VllmGenerator

    config = Vllm("vllm", gpu_memory_utilization=0.25, enforce_eager=True, dtype="float32")
    engine = VllmGenerator(config, str(folder), frozenset(), needs)
    try:
        yield engine
    finally:
        engine.close()


def random_model(shape: dict[str, int], folder: Path) -> Path:
    """A random Qwen2 of this shape, and a tokenizer that only has to be there: no token ends a turn."""
    import torch
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(**shape, tie_word_embeddings=True, bos_token_id=None, eos_token_id=None)
    Qwen2ForCausalLM(config).save_pretrained(folder)
    words = Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCABULARY)}, unk_token="w0"))
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="w0").save_pretrained(folder)
    return folder
