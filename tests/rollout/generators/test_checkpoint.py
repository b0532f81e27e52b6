"""Loading by name and revision, from a hub cache with two revisions of one model."""

import json
from pathlib import Path
from typing import Any

import pytest

from rollout.generators import Needs, Transformers, build, checkpoint
from tasks.errors import InputError

NAME, END = "someone/tiny", "<|endoftext|>"  # Qwen2's own


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """`main` ends turns with id 1 and knows `a`; revision `other` ends them with 3 and knows `b`, too."""
    import huggingface_hub.constants as constants
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    folder = tmp_path / "models--someone--tiny"
    (folder / "refs").mkdir(parents=True)
    for number, (name, words) in enumerate({"main": ["a", END], "other": ["a", "b", "c", END]}.items()):
        commit = str(number) * 40
        snapshot = folder / "snapshots" / commit
        (folder / "refs" / name).write_text(commit)
        made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="a"))
        PreTrainedTokenizerFast(tokenizer_object=made, eos_token=END).save_pretrained(snapshot)
        config = Qwen2Config(
            vocab_size=len(words), hidden_size=8, intermediate_size=8, num_hidden_layers=1,
            num_attention_heads=1, num_key_value_heads=1, eos_token_id=len(words) - 1,
        )  # fmt: skip
        Qwen2ForCausalLM(config).save_pretrained(snapshot)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    return NAME


@pytest.mark.parametrize(("revision", "size"), [(None, 2), ("other", 4)])
def test_weights_words_and_stop_tokens_are_of_one_revision(hub: str, revision: str | None, size: int) -> None:
    generator: Any
    generator, words = build(Transformers(), hub, needs=Needs(revision=revision))
    assert len(words) == generator.model.config.vocab_size == size
    ends = checkpoint.generation_config(hub, revision)
    assert checkpoint.stop_ids(ends, checkpoint.tokenizer(hub, revision=revision)) == {size - 1}


def test_a_revision_that_is_not_there_is_named(hub: str) -> None:
    with pytest.raises(InputError, match=r"model someone/tiny cannot be loaded"):
        build(Transformers(), hub, needs=Needs(revision="nowhere"))


@pytest.mark.parametrize("content", [[], "text", 3, None, {"eos_token_id": "two"}, {"eos_token_id": [1.5]}])
def test_a_generation_configuration_that_is_none_is_named(tmp_path: Path, content: object) -> None:
    (tmp_path / "generation_config.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"generation_config.json of .* is none"):
        checkpoint.generation_config(str(tmp_path))
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": ')
    with pytest.raises(InputError, match=r"generation_config.json of .* is none"):
        checkpoint.generation_config(str(tmp_path))
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [4, 5]}')
    found = checkpoint.generation_config(str(tmp_path))
    assert found is not None
    assert found.eos_token_id == [4, 5]
    (tmp_path / "generation_config.json").unlink()
    assert checkpoint.generation_config(str(tmp_path)) is None
