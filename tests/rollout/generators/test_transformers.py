import asyncio
from pathlib import Path
from typing import Any

import pytest

from rollout.generators import Generation, Generator, Request, Sampling, Transformers, build
from tasks.errors import InputError

PROMPTS = [(5, 6, 7), (11,), (100, 200, 300, 400, 500), (9, 8), (42, 43, 44, 45)]


@pytest.fixture(scope="module")
def generator(tiny_qwen: Path) -> Any:
    return build(Transformers(batch_size=2), str(tiny_qwen))[0]


def run(generator: Generator, requests: list[Request], sampling: Sampling, **rest: Any) -> list[Generation]:
    return asyncio.run(generator.generate(requests, sampling, **rest))


def test_order_is_kept_and_every_request_reports(generator: Any) -> None:
    seen: dict[int, Generation] = {}
    requests = [Request(prompt, seed) for seed, prompt in enumerate(PROMPTS)]
    found = run(generator, requests, Sampling(6), on_done=seen.__setitem__)
    assert [seen[i] for i in range(len(requests))] == found
    for i, request in enumerate(requests):
        assert run(generator, [request], Sampling(6))[0].token_ids == found[i].token_ids


def test_samples_of_a_prompt_share_its_prefill(generator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [Request(PROMPTS[i], seed) for seed in range(4) for i in (0, 2)]
    alone = [run(generator, [request], Sampling(6))[0] for request in requests]
    rows = []
    forward = generator.model.forward

    def spy(**inputs: Any) -> Any:
        rows.append(tuple(inputs["input_ids"].shape))
        return forward(**inputs)

    monkeypatch.setattr(generator, "batch_size", 8)
    monkeypatch.setattr(generator.model, "forward", spy)
    together = run(generator, requests, Sampling(6))
    assert [one.token_ids for one in together] == [one.token_ids for one in alone]
    assert len({one.token_ids for one in together}) > 2
    assert rows == [(2, 5)] + [(8, 1)] * 5


def test_a_seed_repeats_and_another_differs(generator: Any) -> None:
    first, again, other = (
        run(generator, [Request(PROMPTS[0], seed)], Sampling(16))[0].token_ids for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_log_probabilities_are_those_of_one_forward_pass(generator: Any, temperature: float) -> None:
    import torch

    requests = [Request(prompt, seed) for seed, prompt in enumerate(PROMPTS)]
    for request, found in zip(requests, run(generator, requests, Sampling(8, temperature)), strict=True):
        ids = torch.tensor([[*request.prompt_ids, *found.token_ids]])
        logits = generator.model(input_ids=ids).logits[0, len(request.prompt_ids) - 1 : -1].detach().double()
        expected = torch.log_softmax(logits / (temperature or 1.0), -1)
        assert found.logprobs == pytest.approx(
            [float(expected[i, token]) for i, token in enumerate(found.token_ids)], abs=1e-5
        )
        if temperature == 0.0:
            assert list(found.token_ids) == expected.argmax(-1).tolist()


def test_greedy_equals_the_library(generator: Any) -> None:
    import torch

    prompt = PROMPTS[2]
    (found,) = run(generator, [Request(prompt)], Sampling(10, 0.0))
    theirs = generator.model.generate(torch.tensor([prompt]), max_new_tokens=10, do_sample=False)
    assert list(found.token_ids) == theirs[0, len(prompt) :].tolist()


def test_a_stop_token_ends_its_row_alone(generator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [Request(prompt, seed) for seed, prompt in enumerate(PROMPTS)]
    free = run(generator, requests, Sampling(6))
    stop = free[3].token_ids[2]
    monkeypatch.setattr(generator, "stop_ids", frozenset({stop}))
    for long, short in zip(free, run(generator, requests, Sampling(6)), strict=True):
        cut = long.token_ids.index(stop) + 1 if stop in long.token_ids else 6
        assert short.token_ids == long.token_ids[:cut]
        assert short.stop == ("stop" if stop in long.token_ids else "length")
        assert short.logprobs == pytest.approx(long.logprobs[:cut], abs=1e-5)


def test_samples_follow_the_distribution(generator: Any) -> None:
    """Ten thousand draws of one token from a known distribution: frequencies within four standard errors."""
    from random import Random

    import torch

    from rollout.generators.transformers import _draw

    shares = [0.5, 0.25, 0.125, 0.125, 0.0]
    n = 10_000
    logits = torch.tensor(shares).log().expand(n, -1)
    random = Random(0)
    tokens, logprobs = _draw(logits, 1.0, [random.random() for _ in range(n)])
    for token, share in enumerate(shares):
        assert abs(tokens.count(token) / n - share) <= 4 * (share * (1 - share) / n) ** 0.5
    assert set(logprobs) <= {float(torch.tensor(share).log()) for share in shares[:4]}


def test_the_training_mode_is_given_back(generator: Any) -> None:
    generator.model.train()
    run(generator, [Request(PROMPTS[0])], Sampling(1))
    assert generator.model.training
    generator.model.eval()


def test_an_adapter_changes_what_is_generated_and_its_folder_is_a_model(
    tiny_qwen: Path, tmp_path: Path, generator: Any
) -> None:
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    base = AutoModelForCausalLM.from_pretrained(tiny_qwen)
    lora = LoraConfig(r=4, target_modules=["q_proj", "v_proj", "gate_proj"], init_lora_weights=False)
    get_peft_model(base, lora).save_pretrained(tmp_path)
    request, sampling = Request(PROMPTS[2]), Sampling(8, 0.0)
    plain = run(generator, [request], sampling)
    adapted = run(build(Transformers(), str(tiny_qwen), tmp_path)[0], [request], sampling)
    alone = run(build(Transformers(), str(tmp_path))[0], [request], sampling)
    ids = [found[0].token_ids for found in (plain, adapted, alone)]
    assert ids[1] == ids[2] != ids[0]


def test_a_folder_that_is_no_model_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be loaded"):
        build(Transformers(), str(tmp_path))
    with pytest.raises(InputError, match="cannot be loaded"):
        build(Transformers(), "nobody/no-such-model")
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(InputError, match="base model"):
        build(Transformers(), str(tmp_path))


def test_the_fingerprint_follows_the_files(tmp_path: Path) -> None:
    from rollout.generators.checkpoint import fingerprint

    (tmp_path / "model.safetensors").write_bytes(b"one")
    first = fingerprint(str(tmp_path))
    assert fingerprint(str(tmp_path)) == first
    (tmp_path / "model.safetensors").write_bytes(b"four")
    assert fingerprint(str(tmp_path)) != first
    assert fingerprint("a/b") != fingerprint("a/c")
