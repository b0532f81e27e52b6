"""Two real vLLM servers on the CPU, with LoRA, against Transformers with the same weights."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rollout.generators import Generation, Item, Needs, Request, Sampling, Transformers, VllmServer, build
from tasks.errors import InputError
from tests.servers import Server

pytest.importorskip("vllm", reason="vLLM comes with the cpu and cuda extras")
pytestmark = pytest.mark.slow

RANK, LENGTH = 8, 640
PROMPTS = [(5, 6, 7), (11,), (100, 200, 300, 400, 500), tuple(range(1000, 1300)), tuple(range(1000, 1290))]
ITEMS = [Item((5, 6, 7), ((8, 9), (10,))), Item(tuple(range(50, 250)), ((1, 2, 3), (4, 5, 6, 7)))]


def config(servers: list[Server], **options: Any) -> VllmServer:
    return VllmServer("vllm_server", tuple(server.url for server in servers), **options)


@pytest.fixture(scope="module")
def servers(tiny_qwen3: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    """Both with LoRA."""
    logs = tmp_path_factory.mktemp("logs")
    found = [Server(tiny_qwen3, logs / str(i), LENGTH, RANK) for i in range(2)]
    try:
        for server in found:
            server.start()
        for server in found:
            server.wait()
        yield found
    finally:
        for server in found:
            server.kill()


@pytest.fixture(scope="module")
def adapters(tiny_qwen3: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Random LoRAs on every layer that vLLM serves, large enough to be seen."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    folders = [tmp_path_factory.mktemp("adapter") for _ in range(2)]
    for seed, folder in enumerate(folders):
        torch.manual_seed(seed)
        lora = LoraConfig(r=RANK, target_modules="all-linear", init_lora_weights=False)
        get_peft_model(AutoModelForCausalLM.from_pretrained(tiny_qwen3), lora).save_pretrained(folder)
    return folders


@pytest.fixture(scope="module")
def generator(servers: list[Server], tiny_qwen3: Path) -> Iterator[Any]:
    made, _ = build(config(servers), str(tiny_qwen3), needs=Needs(max_model_len=LENGTH, lora_rank=RANK))
    yield made
    made.close()


def run(generator: Any, requests: list[Request], sampling: Sampling, **rest: Any) -> list[Generation]:
    return asyncio.run(generator.generate(requests, sampling, **rest))


def test_tokens_and_log_probabilities_follow_the_adapter(
    generator: Any, tiny_qwen3: Path, adapters: list[Path]
) -> None:
    """Greedy tokens and their log-probabilities, and scores, are those of Transformers with that adapter."""
    said = []
    for version, folder in enumerate([None, *adapters]):
        if folder is not None:
            asyncio.run(generator.load_adapter(folder, version))
        other, _ = build(Transformers(dtype="float32"), str(tiny_qwen3), folder)
        requests = [Request(prompt, seed) for prompt in PROMPTS for seed in range(2)]
        found, theirs = (run(one, requests, Sampling(12, 0.0)) for one in (generator, other))
        for ours, expected in zip(found, theirs, strict=True):
            assert ours.version == version
            assert ours.token_ids == expected.token_ids
            assert ours.logprobs == pytest.approx(expected.logprobs, abs=1e-4)
        said.append([one.token_ids for one in found])
        for heat in (0.7, 1.0):
            for request, ours in zip(requests, run(generator, requests, Sampling(8, heat)), strict=True):
                expected_logprobs = recomputed(other, request, ours, heat)
                assert ours.logprobs == pytest.approx(expected_logprobs, abs=1e-4)
        seen: dict[int, Any] = {}
        scores, expected_scores = (asyncio.run(one.score(ITEMS)) for one in (generator, other))
        asyncio.run(generator.score(ITEMS, seen.__setitem__))
        for mine, yours in zip(scores, expected_scores, strict=True):
            assert mine == [pytest.approx(one, abs=1e-4) for one in yours]
        assert [seen[i] for i in range(len(ITEMS))] == scores
    assert said[0] != said[1] != said[2] != said[0]


def recomputed(other: Any, request: Request, found: Generation, heat: float) -> list[float]:
    """Log-probabilities of a completion by one forward pass of Transformers."""
    import torch

    ids = torch.tensor([[*request.prompt_ids, *found.token_ids]])
    with torch.no_grad():
        logits = other.model(input_ids=ids).logits[0, len(request.prompt_ids) - 1 : -1]
    logprobs = torch.log_softmax(logits.double() / heat, -1)
    return [float(logprobs[i, token]) for i, token in enumerate(found.token_ids)]


def test_order_is_kept_and_a_seed_repeats_on_any_server(
    generator: Any, servers: list[Server], tiny_qwen3: Path
) -> None:
    requests = [Request(PROMPTS[i % 5], seed) for i, seed in enumerate(range(40))]
    seen: dict[int, Generation] = {}
    found = run(generator, requests, Sampling(6), on_done=seen.__setitem__)
    assert [seen[i] for i in range(40)] == found
    again = run(generator, requests[::-1], Sampling(6))[::-1]
    assert [one.token_ids for one in again] == [one.token_ids for one in found]
    assert len({one.token_ids for one in found}) > 30


def test_samples_of_a_prompt_share_its_prefill(generator: Any) -> None:
    prompt = tuple(range(3000, 3400))  # three whole blocks of 128 tokens, and some
    found = run(generator, [Request(prompt, seed) for seed in range(8)], Sampling(4))
    assert sorted(one.cached_tokens for one in found) == [0] + [384] * 7


def test_a_stop_token_ends_a_turn(generator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (free,) = run(generator, [Request(PROMPTS[0])], Sampling(16, 0.0))
    assert free.stop == "length"
    monkeypatch.setattr(generator, "stop_ids", frozenset({free.token_ids[3]}))
    (cut,) = run(generator, [Request(PROMPTS[0])], Sampling(16, 0.0))
    assert cut.stop == "stop"
    assert cut.token_ids == free.token_ids[: free.token_ids.index(free.token_ids[3]) + 1]


def test_json_schema_is_kept(generator: Any, qwen_tokenizer: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"enum": ["a", "b"]}, "n": {"type": "boolean"}},
        "required": ["name", "n"],
        "additionalProperties": False,
    }
    requests = [Request(PROMPTS[0], seed, json.dumps(schema)) for seed in range(8)]
    for one in run(generator, requests, Sampling(40)):
        said = json.loads(qwen_tokenizer.decode(list(one.token_ids), skip_special_tokens=True))
        assert said["name"] in ("a", "b")
        assert isinstance(said["n"], bool)


def test_another_model_is_refused(servers: list[Server], tiny_qwen: Path) -> None:
    with pytest.raises(InputError, match=f"{servers[0].port} serves .*start it with: .*--model {tiny_qwen} "):
        build(config(servers[:1]), str(tiny_qwen))


def test_a_rank_and_a_length_that_are_too_much_are_refused(servers: list[Server], tiny_qwen3: Path) -> None:
    with pytest.raises(
        InputError, match=r"LoRA rank 64 is greater than max_lora_rank 8.*--max-lora-rank 64 "
    ):
        build(config(servers[:1]), str(tiny_qwen3), needs=Needs(lora_rank=64))
    with pytest.raises(InputError, match=r"takes 640 tokens and the job needs 700.*--max-model-len 700 "):
        build(config(servers[:1]), str(tiny_qwen3), needs=Needs(max_model_len=700))


def test_a_folder_that_the_server_cannot_see_is_refused(
    generator: Any, adapters: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    from rollout.generators import server
    from rollout.generators.endpoint import Adapter

    shutil.copytree(adapters[0], tmp_path / "here")
    monkeypatch.setattr(server, "_named", lambda folder, version: Adapter("away", Path("/away/on/a/node"), 9))
    with pytest.raises(InputError, match="does not find /away/on/a/node: it has to run on this machine"):
        asyncio.run(generator.load_adapter(tmp_path / "here", 9))


@pytest.fixture
def unhurried(servers: list[Server], tiny_qwen3: Path, adapters: list[Path]) -> Iterator[Any]:
    """Asks few at once, so that work is left at both servers for as long as a run lasts."""
    needs = Needs(max_model_len=LENGTH, lora_rank=RANK)
    made: Any = build(config(servers, concurrency=4), str(tiny_qwen3), needs=needs)[0]
    asyncio.run(made.load_adapter(adapters[1], 2))
    yield made
    made.close()


def test_one_is_killed_and_started_anew(
    unhurried: Any, servers: list[Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost, doubled or reordered: each round of the run is the one that nothing disturbed."""
    generator = unhurried
    monkeypatch.setattr("rollout.generators.pool.LONGEST_PAUSE_S", 3.0)
    requests = [Request(PROMPTS[i % 3], 1000 + i) for i in range(48)]
    sampling, pool = Sampling(12), generator._pool
    calm = run(generator, requests, sampling)
    assert pool.endpoints[0].term == 0

    def one_round(kill_at: int | None = None) -> None:
        done: list[int] = []

        def on_done(index: int, _: Generation) -> None:
            done.append(index)
            if len(done) == kill_at:
                servers[0].kill()
                servers[0].start()

        found = run(generator, requests, sampling, on_done=on_done)
        assert sorted(done) == list(range(len(requests)))
        assert [one.token_ids for one in found] == [one.token_ids for one in calm]
        for ours, undisturbed in zip(found, calm, strict=True):
            assert ours.logprobs == pytest.approx(undisturbed.logprobs, abs=1e-4)
            assert ours.version == undisturbed.version == generator.version

    one_round(kill_at=5)
    assert pool._places.open == {1}
    deadline = time.monotonic() + 400
    while pool._places.open != {0, 1} and time.monotonic() < deadline:
        one_round()
        time.sleep(3.0)  # the start needs the machine
    one_round()  # both serve again, the new one with the adapter
    assert pool._places.open == {0, 1}
    assert pool.endpoints[0].term == 1
    assert pool.endpoints[0].failures == 0


def test_a_server_without_lora_or_with_raw_logprobs_is_refused(
    servers: list[Server], tiny_qwen3: Path, tmp_path: Path
) -> None:
    """Stands last: it takes the place of the two."""
    for server in servers:
        server.kill()
    plain = Server(tiny_qwen3, tmp_path / "log", LENGTH, more=["--logprobs-mode", "raw_logprobs"]).start()
    try:
        plain.wait()
        with pytest.raises(InputError, match=rf"{plain.port} was started without LoRA.*--enable-lora"):
            build(config([plain]), str(tiny_qwen3), needs=Needs(lora_rank=RANK))
        with pytest.raises(InputError, match=r"raw log-probabilities.*--logprobs-mode processed_logprobs"):
            build(config([plain]), str(tiny_qwen3))
    finally:
        plain.kill()
