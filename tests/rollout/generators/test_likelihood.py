from pathlib import Path
from typing import Any

import pytest

from rollout.generators.likelihood import _can_share, log_probabilities
from rollout.generators.protocol import Item

ITEMS = [
    Item((1, 2, 3, 4, 5), ((6, 7), (8,), (9, 10, 11, 12), (6, 7, 8))),
    Item((7,), ((1, 2, 3), (4,))),
    Item((20, 21, 22), ((5,),)),
    Item((1, 2, 3, 4, 5, 6, 7, 8, 9), ((10, 11), (12, 13), (14, 15), (16,))),
]


@pytest.fixture(scope="module")
def model(tiny_qwen: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(tiny_qwen).eval()


def plainly(model: Any, context: tuple[int, ...], continuation: tuple[int, ...], limit: int) -> float:
    """One forward pass over everything, the definition."""
    import torch

    ids = (context + continuation)[-(limit + 1) :]
    with torch.no_grad():
        logprobs = torch.log_softmax(model(torch.tensor([ids[:-1]])).logits[0], -1)[-len(continuation) :]
    return float(logprobs.gather(1, torch.tensor(continuation)[:, None]).sum())


@pytest.mark.parametrize("batch_size", [1, 2, 4, 9])
def test_sharing_a_context_changes_nothing(model: Any, batch_size: int) -> None:
    seen: dict[int, list[tuple[float, ...]]] = {}
    found = log_probabilities(model, ITEMS, batch_size, seen.__setitem__)
    for item, scores in zip(ITEMS, found, strict=True):
        expected = [plainly(model, item.context, one, 8192) for one in item.continuations]
        assert list(map(sum, scores)) == pytest.approx(expected, rel=1e-6)
    assert [seen[i] for i in range(len(ITEMS))] == found


def test_layers_that_forget_share_nothing_and_score_the_same() -> None:
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, use_sliding_window=True, sliding_window=4, max_window_layers=1,
    )  # fmt: skip
    model = Qwen2ForCausalLM(config).eval()
    assert "sliding_attention" in config.layer_types
    assert not _can_share(model)
    found = log_probabilities(model, ITEMS, 3)
    for item, scores in zip(ITEMS, found, strict=True):
        expected = [plainly(model, item.context, one, 8192) for one in item.continuations]
        assert list(map(sum, scores)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_either_attention(model: Any, attention: str) -> None:
    before = model.config._attn_implementation
    model.set_attn_implementation(attention)
    found = log_probabilities(model, ITEMS, 2)
    expected = [[plainly(model, item.context, one, 8192) for one in item.continuations] for item in ITEMS]
    model.set_attn_implementation(before)
    for scores, right in zip(found, expected, strict=True):
        assert list(map(sum, scores)) == pytest.approx(right, rel=1e-6)


def test_long_contexts_are_cut_from_the_left(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model.config, "max_position_embeddings", 7)
    found = log_probabilities(model, ITEMS, 2)
    for item, scores in zip(ITEMS, found, strict=True):
        assert list(map(sum, scores)) == pytest.approx(
            [plainly(model, item.context, c, 7) for c in item.continuations], rel=1e-6
        )
    with pytest.raises(ValueError, match="a continuation of 8 tokens; the model takes 7"):
        log_probabilities(model, [Item((1,), ((2,) * 8,))])
