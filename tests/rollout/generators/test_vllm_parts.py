"""What surrounds vLLM engines: slots, callbacks, devices. The engine itself is a stand-in."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from rollout.generators import Generation, Item, Request, Sampling, Vllm
from rollout.generators import vllm as module
from rollout.generators.vllm import VllmGenerator
from tasks.errors import InputError

TOOK = 0.3
REQUESTS = [Request((5, seed), seed) for seed in range(3)]


class Engine:
    """Says token 9 after a while."""

    model_config = SimpleNamespace(max_model_len=100)

    def __init__(self) -> None:
        self.alive = self.most = self.finished = 0

    async def generate(
        self, prompt: Any, parameters: Any, name: str, lora_request: Any
    ) -> AsyncIterator[Any]:
        self.alive += 1
        self.most = max(self.most, self.alive)
        try:
            await asyncio.sleep(TOOK)
        finally:
            self.alive -= 1
        self.finished += 1
        said = {9: SimpleNamespace(logprob=-0.5)}
        choice = SimpleNamespace(token_ids=[9], finish_reason="length", logprobs=[said])
        scores = [None, {5: SimpleNamespace(logprob=-1.0)}]
        yield SimpleNamespace(finished=True, outputs=[choice], num_cached_tokens=0, prompt_logprobs=scores)

    def shutdown(self) -> None:
        pass


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def generator(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[VllmGenerator]:
    pytest.importorskip("vllm", reason="vLLM comes with the cpu and cuda extras")

    async def start(model: str, arguments: dict[str, Any]) -> Any:
        return engine

    monkeypatch.setattr(module, "_start", start)
    made = VllmGenerator(Vllm("vllm", concurrency=1), "a model", frozenset())
    yield made
    made.close()


def test_the_wait_for_a_slot_is_not_the_engines_time(generator: VllmGenerator, engine: Engine) -> None:
    found = asyncio.run(generator.generate(REQUESTS, Sampling(1)))
    assert engine.most == 1  # the last has waited for two others
    assert all(TOOK <= one.seconds < 2 * TOOK for one in found)


def test_what_a_callback_raises_ends_the_batch(generator: VllmGenerator, engine: Engine) -> None:
    def refuses(index: int, _: Any) -> None:
        raise LookupError(f"no room for {index}")

    with pytest.raises(LookupError, match="no room for 0"):
        asyncio.run(generator.generate(REQUESTS, Sampling(1), refuses))
    assert engine.finished == 1
    with pytest.raises(LookupError, match="no room for 0"):
        asyncio.run(generator.score([Item((5,), ((5,),))], refuses))


def test_a_callback_runs_on_the_loop_of_its_caller(generator: VllmGenerator) -> None:
    loops: list[Any] = []

    def notes(index: int, _: Generation) -> None:
        loops.append(asyncio.get_running_loop())

    async def caller() -> bool:
        await generator.generate(REQUESTS[:2], Sampling(1), notes)
        return loops == [asyncio.get_running_loop()] * 2

    assert asyncio.run(caller())


class TestDevices:
    """GPUs of each engine of each rank, by hand."""

    @pytest.fixture(autouse=True)
    def gpus(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("torch.cuda.is_available", lambda: True)
        monkeypatch.setattr("torch.cuda.device_count", lambda: 4)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        monkeypatch.delenv("LOCAL_RANK", raising=False)

    def of(self, *, engines: int = 1, wide: int = 1) -> list[str | None]:
        config = Vllm("vllm", engines=engines, tensor_parallel_size=wide)
        return [module._devices(config, place) for place in range(engines)]

    def test_one_process_spreads_its_engines(self) -> None:
        assert self.of() == ["0"]
        assert self.of(engines=4) == ["0", "1", "2", "3"]
        assert self.of(engines=2, wide=2) == ["0,1", "2,3"]

    def test_each_rank_has_its_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("LOCAL_RANK", "1")
        assert self.of() == ["1"]
        assert self.of(engines=2) == ["2", "3"]
        assert self.of(wide=2) == ["2,3"]

    def test_only_what_is_visible_is_taken_by_its_own_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "6,GPU-3f")
        assert self.of(engines=2) == ["6", "GPU-3f"]
        monkeypatch.setenv("LOCAL_RANK", "1")
        assert self.of() == ["GPU-3f"]
        with pytest.raises(InputError, match="1 engines of 2 GPUs on each rank are more than the 2 GPUs"):
            self.of(wide=2)

    def test_a_machine_without_gpus_has_no_say(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("torch.cuda.is_available", lambda: False)
        assert self.of(engines=2) == [None, None]
