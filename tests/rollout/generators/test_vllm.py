"""Real vLLM on the CPU: one engine for the whole file, against Transformers with the same weights."""

import asyncio
import dataclasses
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rollout.generators import (
    Generation,
    GenerationError,
    Item,
    Needs,
    Request,
    Sampling,
    Transformers,
    Vllm,
    build,
)
from tasks.errors import InputError

pytest.importorskip("vllm", reason="vLLM comes with the cpu and cuda extras")
pytestmark = pytest.mark.slow

PROMPTS = [(5, 6, 7), (11,), (100, 200, 300, 400, 500), tuple(range(1000, 1300)), tuple(range(1000, 1290))]
RANK = 8
ENGINE = Vllm(kind="vllm", gpu_memory_utilization=0.05, enforce_eager=True, dtype="float32")
ITEMS = [Item((5, 6, 7), ((8, 9), (10,))), Item(tuple(range(50, 250)), ((1, 2, 3), (4, 5, 6, 7)))]


def adapter(model: Path, folder: Path, seed: int, **change: Any) -> Path:
    """A random LoRA on every layer that vLLM serves, large enough to be seen."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    options = {"r": RANK, "target_modules": "all-linear", "init_lora_weights": False, **change}
    get_peft_model(AutoModelForCausalLM.from_pretrained(model), LoraConfig(**options)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def adapters(tiny_qwen3: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return [adapter(tiny_qwen3, tmp_path_factory.mktemp("adapter"), seed) for seed in (1, 2)]


@pytest.fixture(scope="module")
def engine(tiny_qwen3: Path) -> Iterator[Any]:
    generator, _ = build(ENGINE, str(tiny_qwen3), needs=Needs(max_model_len=640, lora_rank=RANK))
    yield generator
    generator.close()


def run(generator: Any, requests: list[Request], sampling: Sampling, **rest: Any) -> list[Generation]:
    return asyncio.run(generator.generate(requests, sampling, **rest))


def recomputed(
    model: Path, folder: Path | None, request: Request, found: Generation, heat: float
) -> list[float]:
    """Log-probabilities of a completion by one forward pass of Transformers."""
    import torch

    generator, _ = build(Transformers(dtype="float32"), str(model), folder)
    ids = torch.tensor([[*request.prompt_ids, *found.token_ids]])
    with torch.no_grad():
        logits = generator.model(input_ids=ids).logits[0, len(request.prompt_ids) - 1 : -1]  # type: ignore[attr-defined]
    logprobs = torch.log_softmax(logits.double() / heat, -1)
    return [float(logprobs[i, token]) for i, token in enumerate(found.token_ids)]


@pytest.mark.parametrize("heat", [0.0, 0.7, 1.0])
def test_log_probabilities_are_those_of_transformers(engine: Any, tiny_qwen3: Path, heat: float) -> None:
    requests = [Request(prompt, seed) for seed, prompt in enumerate(PROMPTS)]
    for request, found in zip(requests, run(engine, requests, Sampling(12, heat)), strict=True):
        expected = recomputed(tiny_qwen3, None, request, found, heat or 1.0)
        assert found.logprobs == pytest.approx(expected, abs=1e-4)
        assert found.seconds > 0


def test_order_is_kept_and_a_seed_repeats_alone_and_in_company(engine: Any) -> None:
    seen: dict[int, Generation] = {}
    requests = [Request(PROMPTS[i % 5], seed) for i, seed in enumerate(range(40))]
    found = run(engine, requests, Sampling(6), on_done=seen.__setitem__)
    assert [seen[i] for i in range(40)] == found
    assert [one.token_ids for one in run(engine, requests[::-1], Sampling(6))[::-1]] == [
        one.token_ids for one in found
    ]
    assert run(engine, [requests[7]], Sampling(6))[0].token_ids == found[7].token_ids
    assert len({one.token_ids for one in found}) > 30


def test_samples_of_a_prompt_share_its_prefill(engine: Any) -> None:
    prompt = tuple(range(3000, 3400))  # three whole blocks of 128 tokens, and some
    found = run(engine, [Request(prompt, seed) for seed in range(8)], Sampling(4))
    assert sorted(one.cached_tokens for one in found) == [0] + [384] * 7


def test_greedy_equals_transformers_and_a_stop_token_ends_a_turn(
    engine: Any, tiny_qwen3: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, _ = build(Transformers(dtype="float32"), str(tiny_qwen3))
    requests = [Request(prompt) for prompt in PROMPTS]
    found = run(engine, requests, Sampling(16, 0.0))
    assert [one.token_ids for one in found] == [
        one.token_ids for one in run(other, requests, Sampling(16, 0.0))
    ]
    assert {one.stop for one in found} == {"length"}
    monkeypatch.setattr(engine, "stop_ids", frozenset({found[0].token_ids[3]}))
    (cut,) = run(engine, requests[:1], Sampling(16, 0.0))
    assert cut.stop == "stop"
    assert cut.token_ids == found[0].token_ids[: len(cut.token_ids)]
    assert cut.token_ids[-1] == found[0].token_ids[3]


def test_scores_are_those_of_transformers(engine: Any, tiny_qwen3: Path, adapters: list[Path]) -> None:
    for version, folder in enumerate([None, adapters[0]]):
        if folder:
            fresh = folder.parent / f"for_scores_{version}"
            shutil.copytree(folder, fresh)
            asyncio.run(engine.load_adapter(fresh, version))
        other, _ = build(Transformers(dtype="float32"), str(tiny_qwen3), folder)
        seen: dict[int, Any] = {}
        found = asyncio.run(engine.score(ITEMS, seen.__setitem__))
        expected = asyncio.run(other.score(ITEMS))
        for ours, theirs in zip(found, expected, strict=True):
            assert ours == [pytest.approx(one, abs=1e-4) for one in theirs]
        assert [seen[i] for i in range(len(ITEMS))] == found


def test_json_schema_is_kept(engine: Any, qwen_tokenizer: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"enum": ["a", "b"]}, "n": {"type": "boolean"}},
        "required": ["name", "n"],
        "additionalProperties": False,
    }
    requests = [Request(PROMPTS[0], seed, json.dumps(schema)) for seed in range(8)]
    for one in run(engine, requests, Sampling(40)):
        said = json.loads(qwen_tokenizer.decode(list(one.token_ids), skip_special_tokens=True))
        assert said["name"] in ("a", "b")
        assert isinstance(said["n"], bool)


class TestHotSwap:
    """The guide's pitfalls: what is generated is always what the current adapter says."""

    def follow(self, engine: Any, model: Path, folder: Path, version: int) -> list[tuple[int, ...]]:
        """Load an adapter, and hold every log-probability against that adapter's own."""
        asyncio.run(engine.load_adapter(folder, version))
        requests = [Request(prompt, 3) for prompt in PROMPTS]
        found = run(engine, requests, Sampling(8))
        for request, one in zip(requests, found, strict=True):
            assert one.version == version
            assert one.logprobs == pytest.approx(recomputed(model, folder, request, one, 1.0), abs=1e-4)
        return [one.token_ids for one in found]

    def test_a_new_adapter_is_followed_and_no_stale_prefix_is_read(
        self, engine: Any, tiny_qwen3: Path, adapters: list[Path]
    ) -> None:
        """The second time round the prefixes are cached, with the first adapter's keys and values."""
        first = self.follow(engine, tiny_qwen3, adapters[0], 7)
        assert self.follow(engine, tiny_qwen3, adapters[1], 8) != first

    def test_new_files_in_a_known_folder_are_refused(self, engine: Any, adapters: list[Path]) -> None:
        with pytest.raises(GenerationError, match="loaded before"):
            asyncio.run(engine.load_adapter(adapters[1], 9))

    def test_layers_that_would_be_dropped_are_refused(
        self, engine: Any, tiny_qwen3: Path, tmp_path: Path
    ) -> None:
        folder = adapter(tiny_qwen3, tmp_path, 3, target_modules=["q_proj", "lm_head"])
        with pytest.raises(InputError, match="lm_head: vLLM drops it without a word; adapt only q_proj"):
            asyncio.run(engine.load_adapter(folder, 9))

    def test_a_rank_above_the_engines_is_refused(self, engine: Any, tiny_qwen3: Path, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="rank 16, and the engine was started for ranks up to 8"):
            asyncio.run(engine.load_adapter(adapter(tiny_qwen3, tmp_path, 3, r=16), 9))

    def test_the_engine_keeps_one_adapter(self, engine: Any, tiny_qwen3: Path, tmp_path: Path) -> None:
        for version in range(10, 14):
            asyncio.run(engine.load_adapter(adapter(tiny_qwen3, tmp_path / str(version), version), version))
        assert len(engine._background.run(engine._engines[0].list_loras())) == 1


def test_a_prompt_longer_than_the_engine_allows_is_refused(engine: Any) -> None:
    with pytest.raises(
        InputError, match=r"a prompt of 600 tokens and 50 new ones are more than the engine's 640"
    ):
        run(engine, [Request((1,) * 600)], Sampling(50))


def test_a_cancelled_batch_leaves_the_engine_whole(engine: Any) -> None:
    async def hurried() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(engine.generate([Request((1,), s) for s in range(64)], Sampling(600)), 0.3)

    asyncio.run(hurried())
    assert run(engine, [Request((5,))], Sampling(2))[0].token_ids


def test_two_engines_share_the_work_and_both_follow(
    tiny_qwen3: Path, adapters: list[Path], tmp_path: Path
) -> None:
    config = dataclasses.replace(ENGINE, engines=2, concurrency=4)
    generator, _ = build(config, str(tiny_qwen3), needs=Needs(max_model_len=640, lora_rank=RANK))
    try:
        folder = tmp_path / "policy"
        shutil.copytree(adapters[0], folder)
        asyncio.run(generator.load_adapter(folder, 5))  # type: ignore[attr-defined]
        requests = [Request((7, seed), seed) for seed in range(24)]
        found = run(generator, requests, Sampling(6))
        for request, one in zip(requests, found, strict=True):
            expected = recomputed(tiny_qwen3, adapters[0], request, one, 1.0)
            assert one.logprobs == pytest.approx(expected, abs=1e-4)
            assert one.version == 5
    finally:
        generator.close()
