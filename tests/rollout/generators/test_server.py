"""The server generator against servers in this process that misbehave; real ones are in test_two_servers."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from rollout.generators import Generation, GenerationError, Item, Needs, Request, Sampling, VllmServer, pool
from rollout.generators.server import ServerGenerator
from tasks.errors import InputError
from tests.rollout.generators.fake_vllm import MODEL, STOP, FakeVllm, Reply, answer, error, tokens

SAMPLING = Sampling(6)
REQUESTS = [Request((1, 2, 3 + i % 5), seed) for i, seed in enumerate(range(60))]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr(pool, "LONGEST_PAUSE_S", 0.2)


@pytest.fixture
def fakes() -> Iterator[list[FakeVllm]]:
    found = [FakeVllm(), FakeVllm()]
    yield found
    for one in found:
        one.kill()


@pytest.fixture
def make(fakes: list[FakeVllm]) -> Iterator[Callable[..., ServerGenerator]]:
    made: list[ServerGenerator] = []

    def one(
        servers: list[FakeVllm] | None = None, needs: Needs | None = None, **options: Any
    ) -> ServerGenerator:
        urls = tuple(fake.url for fake in servers or fakes)
        config = VllmServer("vllm_server", urls, **{"timeout_s": 5.0, "patience_s": 5.0, **options})
        made.append(ServerGenerator(config, MODEL, frozenset({STOP}), needs))
        return made[-1]

    yield one
    for generator in made:
        generator.close()


def run(generator: ServerGenerator, requests: list[Request] = REQUESTS, **rest: Any) -> list[Generation]:
    return asyncio.run(generator.generate(requests, SAMPLING, **rest))


def expected(requests: list[Request] = REQUESTS, model: str = MODEL) -> list[tuple[int, ...]]:
    return [
        tuple(tokens({"prompt": list(one.prompt_ids), "seed": one.seed, "model": model, "max_tokens": 6}))
        for one in requests
    ]


def ids(found: list[Generation]) -> list[tuple[int, ...]]:
    return [one.token_ids for one in found]


def first(
    count: int, reply: Callable[[dict[str, Any]], Reply | None]
) -> Callable[[dict[str, Any]], Reply | None]:
    """Behave like `reply` for the first `count` requests."""
    seen: list[int] = []

    def behave(body: dict[str, Any]) -> Reply | None:
        seen.append(1)
        return reply(body) if len(seen) <= count else None

    return behave


def drop(body: dict[str, Any]) -> Reply | None:
    raise ConnectionError


def adapter(folder: Path, rank: int = 8, weights: bytes = b"weights", **change: Any) -> Path:
    folder.mkdir()
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": 8, "target_modules": ["q_proj"], **change}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    (folder / "adapter_model.safetensors").write_bytes(weights)
    return folder


def test_order_is_kept_whatever_the_delays(make: Any, fakes: list[FakeVllm]) -> None:
    draws = Random(0)
    for fake in fakes:
        fake.behave = lambda body: time.sleep(draws.random() * 0.05)
    seen: dict[int, Generation] = {}
    generator = make(concurrency=8)
    found = run(generator, on_done=seen.__setitem__)
    assert ids(found) == expected()
    assert [seen[i] for i in range(len(REQUESTS))] == found
    assert {one.stop for one in found} == {"stop", "length"}
    for one in found:
        assert one.stop == ("stop" if one.token_ids[-1] == STOP else "length")
        assert one.logprobs == tuple(-i / 1000 for i in one.token_ids)
        assert one.cached_tokens == 2
        assert one.seconds > 0
    assert all(fake.most <= 8 for fake in fakes)
    assert sum(fake.most for fake in fakes) > 8
    assert min(len(fake.asked) for fake in fakes) >= 20
    assert sum(len(fake.asked) for fake in fakes) == len(REQUESTS)
    assert ids(run(generator)) == expected()  # and in another event loop


def test_nothing_of_the_distribution_is_left_to_the_server(make: Any, fakes: list[FakeVllm]) -> None:
    """A server fills what is not said from the model's generation config."""
    asyncio.run(make().generate([Request((1,), 5, '{"type": "object"}')], Sampling(6, 0.7)))
    (body,) = fakes[0].asked + fakes[1].asked
    assert (body["temperature"], body["top_p"], body["top_k"], body["min_p"]) == (0.7, 1.0, 0, 0.0)
    assert (body["repetition_penalty"], body["seed"], body["stop_token_ids"]) == (1.0, 5, [STOP])
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_samples_of_a_prompt_go_to_one_server(make: Any, fakes: list[FakeVllm]) -> None:
    prompts = [tuple(range(start, start + 64)) for start in range(0, 1600, 200)]
    run(make(concurrency=128), [Request(prompt, seed) for prompt in prompts for seed in range(8)])
    for prompt in prompts:
        assert [sum(b["prompt"] == list(prompt) for b in fake.asked) for fake in fakes] in ([8, 0], [0, 8])
    assert len(fakes[0].asked) == len(fakes[1].asked)


@pytest.mark.parametrize(
    "reply", [lambda _: (429, error("full")), lambda _: (503, "busy"), drop, lambda _: (500, "")]
)
def test_trouble_that_passes_is_tried_again(make: Any, fakes: list[FakeVllm], reply: Any) -> None:
    fakes[0].behave = fakes[1].behave = first(12, reply)
    assert ids(run(make())) == expected()


def test_a_server_that_is_full_stays_open(make: Any, fakes: list[FakeVllm]) -> None:
    fakes[0].behave = first(30, lambda _: (429, error("full")))
    generator = make(fakes[:1])
    assert ids(run(generator)) == expected()
    assert len(fakes[0].probes) == 1


def test_a_time_out_is_tried_again_elsewhere(make: Any, fakes: list[FakeVllm]) -> None:
    fakes[0].behave = lambda body: time.sleep(1.5)
    assert ids(run(make(timeout_s=0.4))) == expected()


@pytest.mark.parametrize("status", [400, 403, 404, 422])
def test_a_refusal_is_an_error_at_once(make: Any, fakes: list[FakeVllm], status: int) -> None:
    fakes[0].behave = lambda body: (status, error("Token id 9 is out of vocabulary"))
    generator = make(fakes[:1])
    with pytest.raises(GenerationError, match=f"{fakes[0].port} refused .* HTTP {status}: Token id 9 is out"):
        run(generator, REQUESTS[:1])
    assert len(fakes[0].asked) == 1


def test_a_dead_server_drains_and_rejoins(make: Any, fakes: list[FakeVllm], tmp_path: Path) -> None:
    for fake in fakes:
        fake.delay = 0.05
    generator = make(concurrency=4)
    asyncio.run(generator.load_adapter(adapter(tmp_path / "one"), 3))
    done: list[int] = []

    def on_done(index: int, _: Generation) -> None:
        done.append(index)
        if len(done) == 12:
            fakes[0].kill()
        if len(done) == 24:
            fakes[0].start()

    requests = [Request((1, 2), seed) for seed in range(120)]
    found = run(generator, requests, on_done=on_done)
    name = fakes[1].asked[0]["model"]
    assert ids(found) == expected(requests, name)
    assert sorted(done) == list(range(120))
    assert list(fakes[0].adapters) == [name]  # loaded anew
    assert {one.version for one in found} == {3}
    assert len(fakes[0].asked) > 20


def test_all_dead_and_back(make: Any, fakes: list[FakeVllm]) -> None:
    generator = make()
    for fake in fakes:
        fake.kill()

    async def later() -> list[Generation]:
        async def revive() -> None:
            await asyncio.sleep(0.5)
            fakes[1].start()

        return (await asyncio.gather(generator.generate(REQUESTS, SAMPLING), revive()))[0]

    assert ids(asyncio.run(later())) == expected()


def test_patience_ends(make: Any, fakes: list[FakeVllm]) -> None:
    generator = make(patience_s=0.6)
    for fake in fakes:
        fake.kill()
    began = time.monotonic()
    with pytest.raises(
        GenerationError, match=rf"{fakes[0].port}: connection lost.*{fakes[1].port}: conn"
    ) as caught:
        run(generator)
    assert 0.5 < time.monotonic() - began < 4
    assert "patience_s (0.6 s)" in str(caught.value)


def test_a_server_that_hangs_is_named(make: Any, fakes: list[FakeVllm]) -> None:
    generator = make(fakes[:1], timeout_s=0.2, patience_s=0.5)
    fakes[0].behave = lambda body: time.sleep(1.0)
    with pytest.raises(GenerationError, match=f"{fakes[0].port}: no answer within 0.2 s"):
        run(generator, REQUESTS[:3])


def test_pauses_grow_until_a_completion_is_finished(make: Any, fakes: list[FakeVllm]) -> None:
    """Probes that succeed do not count: a server that takes no request is asked ever more rarely."""
    generator = make(fakes[:1], patience_s=1.5)
    fakes[0].behave = lambda body: (500, "broken")
    with pytest.raises(GenerationError, match="HTTP 500: broken"):
        run(generator, REQUESTS[:1])
    assert len(fakes[0].asked) < 16
    assert generator._pool.endpoints[0].failures >= 5
    fakes[0].behave = lambda body: None
    run(generator, REQUESTS[:1])
    assert generator._pool.endpoints[0].failures == 0


def test_a_server_that_comes_back_unfit_stays_away(make: Any, fakes: list[FakeVllm]) -> None:
    generator = make(patience_s=0.5)
    for fake in fakes:
        fake.kill()
        fake.model = "other"
        fake.start()
        fake.behave = first(1, drop)
    with pytest.raises(GenerationError, match=r"does not exist|serves 'other'"):
        run(generator)


def spoil(change: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Reply]:
    def behave(body: dict[str, Any]) -> Reply:
        found = answer(body, [10, 11, 12, 13, 14, 15])
        change(found["choices"][0])
        return 200, found

    return behave


GARBAGE: dict[str, tuple[Callable[[dict[str, Any]], Reply], str]] = {
    "no JSON": (lambda _: (200, "<html>hello"), "no JSON: '<html>hello'"),
    "cut JSON": (lambda _: (200, '{"choices": ['), "no JSON"),
    "another JSON": (lambda _: (200, [1, 2]), "without exactly one choice"),
    "two choices": (lambda b: (200, {"choices": answer(b)["choices"] * 2}), "without exactly one choice"),
    "no ids": (spoil(lambda c: c.pop("token_ids")), "without token_ids"),
    "text ids": (spoil(lambda c: c.update(token_ids=["a"] * 6)), "without token_ids"),
    "no logprobs": (spoil(lambda c: c.update(logprobs=None)), "without the log-probabilities"),
    "NaN": (spoil(lambda c: c["logprobs"].update(token_logprobs=[float("nan")] * 6)), "without the log-prob"),
    "fewer logprobs": (spoil(lambda c: c["logprobs"]["token_logprobs"].pop()), "6 tokens with 5 log-prob"),
    "too few": (lambda b: (200, answer(b, [10, 11])), "2 tokens with finish_reason 'length' where 6"),
    "too many": (lambda b: (200, answer(b, [10] * 7)), "7 tokens with finish_reason 'length' where 6"),
    "none": (lambda b: (200, answer(b, [])), "without tokens"),
    "another prompt": (spoil(lambda c: c.update(prompt_token_ids=[9])), "the answer to another prompt"),
    "no prompt": (spoil(lambda c: c.pop("prompt_token_ids")), "without prompt_token_ids"),
    "stop without stop": (spoil(lambda c: c.update(finish_reason="stop")), "stops at token 15, which"),
    "length at stop": (spoil(lambda c: c["token_ids"].__setitem__(5, STOP)), "'length' that ends in a stop"),
    "past stop": (spoil(lambda c: c["token_ids"].__setitem__(2, STOP)), "goes on after its stop token"),
    "odd reason": (spoil(lambda c: c.update(finish_reason="repetition")), "finish_reason 'repetition'"),
}  # fmt: skip


@pytest.mark.parametrize("case", GARBAGE)
def test_an_impossible_answer_is_an_error_that_names_the_server(
    make: Any, fakes: list[FakeVllm], case: str
) -> None:
    behave, message = GARBAGE[case]
    generator = make(fakes[:1])
    fakes[0].behave = behave
    with pytest.raises(GenerationError, match=f"127.0.0.1:{fakes[0].port} gave .*{message}"):
        run(generator, REQUESTS[:1])
    assert len(fakes[0].asked) == 1


def test_a_completion_that_broke_off_is_tried_again(make: Any, fakes: list[FakeVllm]) -> None:
    """A server that is asked to stop ends what runs with `abort` and few tokens."""
    fakes[0].behave = first(5, spoil(lambda c: c.update(finish_reason="abort", token_ids=[10])))
    assert ids(run(make(), REQUESTS)) == expected()


def test_scores(make: Any, fakes: list[FakeVllm]) -> None:
    items = [Item((1, 2), ((3, 4), (5,))), Item((9,), ((8, 7, 6),))]
    seen: dict[int, Any] = {}
    found = asyncio.run(make().score(items, seen.__setitem__))
    assert found == [[(-0.003, -0.004), (-0.005,)], [(-0.008, -0.007, -0.006)]]
    assert [seen[0], seen[1]] == found
    for fake in fakes:
        fake.behave = lambda body: (
            200,
            {"choices": [{**answer(body)["choices"][0], "prompt_logprobs": None}]},
        )
    with pytest.raises(GenerationError, match="without a log-probability for each token"):
        asyncio.run(make().score(items))


class TestAdapters:
    def test_the_new_one_is_followed_and_the_old_one_goes(
        self, make: Any, fakes: list[FakeVllm], tmp_path: Path
    ) -> None:
        generator = make(needs=Needs(lora_rank=8))
        assert run(generator, REQUESTS[:1])[0].version == 0
        for version, weights in ((4, b"a"), (5, b"b")):
            asyncio.run(generator.load_adapter(adapter(tmp_path / str(version), weights=weights), version))
            assert generator.version == version
            (name,) = fakes[0].adapters
            assert list(fakes[1].adapters) == [name]
            assert name.startswith(f"policy-v{version}-")
            found = run(generator)
            assert ids(found) == expected(model=name)
            assert {one.version for one in found} == {version}
        generator.close()
        assert not fakes[0].adapters | fakes[1].adapters

    def test_equal_weights_of_two_ranks_share_a_name(
        self, make: Any, fakes: list[FakeVllm], tmp_path: Path
    ) -> None:
        for rank in ("0", "1"):
            asyncio.run(make().load_adapter(adapter(tmp_path / rank), 4))
        assert len(fakes[0].adapters) == 1

    def test_a_server_that_was_started_anew_unseen_gets_it_again(
        self, make: Any, fakes: list[FakeVllm], tmp_path: Path
    ) -> None:
        generator = make()
        asyncio.run(generator.load_adapter(adapter(tmp_path / "one"), 4))
        (name,) = fakes[0].adapters
        fakes[0].adapters.clear()
        assert ids(run(generator)) == expected(model=name)
        assert list(fakes[0].adapters) == [name]

    def test_a_server_that_is_away_gets_it_as_it_rejoins(
        self, make: Any, fakes: list[FakeVllm], tmp_path: Path
    ) -> None:
        generator = make()
        fakes[0].kill()
        asyncio.run(generator.load_adapter(adapter(tmp_path / "one"), 4))
        (name,) = fakes[1].adapters
        fakes[0].start()
        deadline = time.monotonic() + 3
        while 0 not in generator._pool._places.open and time.monotonic() < deadline:
            time.sleep(0.02)  # rejoins while nothing is generated
        assert list(fakes[0].adapters) == [name]

    def test_one_that_no_server_finds_is_refused(
        self, make: Any, fakes: list[FakeVllm], tmp_path: Path
    ) -> None:
        generator = make()
        folder = adapter(tmp_path / "one")
        fakes[1].runtime_lora = False
        with pytest.raises(InputError, match=f"{fakes[1].port} takes no adapters while it runs"):
            asyncio.run(generator.load_adapter(folder, 4))
        fakes[1].runtime_lora = True
        for fake in fakes:
            fake.post = lambda path, body: (404, error("No adapter found for <path>"))  # type: ignore[method-assign]
        with pytest.raises(
            InputError, match=r"does not find .*/one: it has to run on this machine, or the folder"
        ):
            asyncio.run(generator.load_adapter(folder, 5))

    def test_one_that_cannot_be_served_is_refused(self, make: Any, tmp_path: Path) -> None:
        generator = make()
        with pytest.raises(InputError, match="DoRA"):
            asyncio.run(generator.load_adapter(adapter(tmp_path / "one", use_dora=True), 4))
        with pytest.raises(InputError, match="rank 16 is greater than max_lora_rank 8"):
            asyncio.run(generator.load_adapter(adapter(tmp_path / "two", rank=16), 5))
        assert ids(run(generator)) == expected()


class TestConstruction:
    """What does not fit is refused before anything is generated, with the command that mends it."""

    def refused(self, make: Any, fake: FakeVllm, message: str, **needs: Any) -> str:
        with pytest.raises(InputError, match=f"server 127.0.0.1:{fake.port} {message}") as caught:
            make([fake], needs=Needs(**needs))
        return str(caught.value)

    def test_unreachable(self, make: Any, fakes: list[FakeVllm]) -> None:
        fakes[1].kill()
        assert "generator.urls" in self.refused(make, fakes[1], "cannot be reached .connection lost")

    def test_another_model(self, make: Any, fakes: list[FakeVllm]) -> None:
        fakes[1].model = "other"
        said = self.refused(make, fakes[1], "serves 'other'; start it with", max_model_len=300)
        assert "--model tiny --max-model-len 300 --logprobs-mode processed_logprobs" in said
        assert f"--port {fakes[1].port}" in said
        assert "lora" not in said
        assert said.endswith("(on a CPU add --no-enable-chunked-prefill --dtype float32)")

    def test_too_short(self, make: Any, fakes: list[FakeVllm]) -> None:
        said = self.refused(make, fakes[0], "takes 640 tokens and the job needs 700", max_model_len=700)
        assert "--max-model-len 700" in said

    def test_without_lora(self, make: Any, fakes: list[FakeVllm]) -> None:
        fakes[1].lora_rank = None
        said = self.refused(make, fakes[1], "was started without LoRA", lora_rank=12)
        assert "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True python -m vllm" in said
        assert "--enable-lora --max-lora-rank 16 --max-loras 1" in said

    def test_without_runtime_updates(self, make: Any, fakes: list[FakeVllm]) -> None:
        fakes[1].runtime_lora = False
        self.refused(make, fakes[1], "takes no adapters while it runs", lora_rank=8)

    def test_a_rank_too_low(self, make: Any, fakes: list[FakeVllm]) -> None:
        fakes[0].lora_rank = 32
        self.refused(make, fakes[0], "serves adapters of lower rank only: LoRA rank 64", lora_rank=64)

    def test_raw_log_probabilities(self, make: Any, fakes: list[FakeVllm]) -> None:
        fakes[0].raw_logprobs = True
        self.refused(make, fakes[0], "gives raw log-probabilities")

    def test_something_else_at_the_address(self, make: Any, fakes: list[FakeVllm]) -> None:
        for reply in [(200, "<html>"), (200, {"data": [{"id": "tiny"}]}), (404, "nothing")]:
            fakes[0].get = lambda path, reply=reply: reply  # type: ignore[misc, method-assign]
            self.refused(make, fakes[0], "is no vLLM server of this kind")

    def test_the_key_is_sent_and_never_said(
        self,
        make: Any,
        fakes: list[FakeVllm],
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        caplog.set_level(logging.DEBUG)
        for fake in fakes:
            fake.key = "sesame-9137"
        said = [self.refused(make, fakes[0], "does not take the API key")]
        monkeypatch.setenv("VLLM_API_KEY", "sesame-9137")
        generator = make(patience_s=0.3)
        assert ids(run(generator)) == expected()
        for fake in fakes:
            fake.behave = lambda body: (500, error("bad header Bearer sesame-9137"))
        with pytest.raises(GenerationError, match=r"Bearer \*\*\*") as caught:
            run(generator)
        assert "sesame" not in " ".join([*said, str(caught.value), caplog.text, repr(vars(generator))])


def test_a_prompt_longer_than_the_servers_allow_is_refused(make: Any, fakes: list[FakeVllm]) -> None:
    fakes[1].max_model_len = 500
    with pytest.raises(
        InputError, match="a prompt of 495 tokens and 6 new ones are more than the servers' 500"
    ):
        run(make(), [Request((1,) * 495)])


def test_cancellation_cancels_all(make: Any, fakes: list[FakeVllm]) -> None:
    generator = make(concurrency=4)
    for fake in fakes:
        fake.delay = 0.1

    async def hurried() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(generator.generate(REQUESTS, SAMPLING), 0.25)

    asyncio.run(hurried())
    time.sleep(0.3)
    asked = sum(len(fake.asked) for fake in fakes)
    assert asked < len(REQUESTS)
    time.sleep(0.3)
    assert sum(len(fake.asked) for fake in fakes) == asked
    assert ids(run(generator)) == expected()


def test_what_a_callback_raises_ends_the_batch(make: Any, fakes: list[FakeVllm]) -> None:
    def refuses(index: int, _: Any) -> None:
        raise LookupError("no room")

    generator = make(concurrency=2)
    with pytest.raises(LookupError, match="no room"):
        run(generator, on_done=refuses)
    assert sum(len(fake.asked) for fake in fakes) < len(REQUESTS)
    with pytest.raises(LookupError, match="no room"):
        asyncio.run(generator.score([Item((1, 2), ((3, 4),))], refuses))
    assert ids(run(generator)) == expected()


def test_many_callers_at_once(make: Any) -> None:
    """As dialogues do: each asks for its own next turn."""
    generator = make(concurrency=2)

    async def all_of_them() -> list[list[Generation]]:
        return await asyncio.gather(*(generator.generate([one], SAMPLING) for one in REQUESTS))

    assert [found[0].token_ids for found in asyncio.run(all_of_them())] == expected()


def test_nothing_after_the_end(make: Any) -> None:
    generator = make()
    generator.close()
    generator.close()
    with pytest.raises(GenerationError, match="closed"):
        run(generator)


@pytest.mark.parametrize("url", ["http://user:word@host:1", "ftp://user:word@host"])
def test_a_password_in_an_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InputError, match="urls holds a password") as refusal:
        VllmServer("vllm_server", (url,))
    assert "word@" not in str(refusal.value)


def test_a_key_that_is_none_is_refused_and_not_repeated() -> None:
    from rollout.generators.endpoint import Endpoint, Wanted

    with pytest.raises(InputError, match="holds a line break") as refusal:
        Endpoint("http://h:1", "secret\nword", Wanted("m", None, None, None), 1, 1.0)
    assert "secret" not in str(refusal.value)


def test_a_key_is_hidden_however_it_is_spelt() -> None:
    from rollout.generators.endpoint import Endpoint, Wanted

    endpoint = Endpoint("http://h:1", 'se"cret', Wanted("m", None, None, None), 1, 1.0)
    assert "cret" not in endpoint._hide('{"said": "Bearer se\\"cret"}') + endpoint._hide('Bearer se"cret')


@pytest.mark.parametrize("url", ["http://h:99999", "http://h:abc", "http://[::1"])
def test_an_address_that_is_none_is_named(url: str) -> None:
    with pytest.raises(InputError, match="is no address"):
        VllmServer("vllm_server", (url,))
