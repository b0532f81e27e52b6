"""The small real model is what its file holds."""

from pathlib import Path

import pytest

TEXT = (
    "MuSiQue is a multi-hop question answering dataset. "
    "The Eiffel Tower was completed in 1889 in Paris, the capital of France."
)


@pytest.mark.slow
def test_unpacked_it_reads_a_sentence_as_packed(smollm2: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    words, model = (
        AutoTokenizer.from_pretrained(smollm2),
        AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32),
    )
    encoded = words(TEXT, return_tensors="pt")
    with torch.no_grad():
        loss = model(**encoded, labels=encoded["input_ids"]).loss.item()
    assert loss == pytest.approx(3.944, abs=0.01)  # of the packed weights
    assert words.eos_token == "<|im_end|>"
    assert words.chat_template
