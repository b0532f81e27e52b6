"""The README.md of a trained policy: what it was made of and how to load it, without paths of the machine.

TRL's own card names the base model by the path that it was loaded from, or not at all.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from train.grpo_config import Config
    from train.run_dir import RunDir

CARD = "README.md"

_TEXT = """\
# {title}

{what} of `{base}`, trained with GRPO by askrl; `recipe.yaml` beside this file holds every setting.

- data: {data}
- rewards:
{rewards}

```python
{snippet}
```
"""
ADAPTER = """\
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

base = AutoModelForCausalLM.from_pretrained("{base}")
policy = PeftModel.from_pretrained(base, "{here}")
tokenizer = AutoTokenizer.from_pretrained("{here}")"""
_MODEL = """\
from transformers import AutoModelForCausalLM, AutoTokenizer

policy = AutoModelForCausalLM.from_pretrained("{here}")
tokenizer = AutoTokenizer.from_pretrained("{here}")"""


def write_card(run_dir: "RunDir", config: "Config") -> None:
    """Put the card in the place of TRL's; to be called after the policy is saved. Only rank 0 writes."""
    run_dir.write_text(CARD, card(config))


def card(config: "Config") -> str:
    """The card of a run's policy: a head that the hub reads, and a page for a person."""
    base, here = public(config.model), config.output_dir.name
    data = {name: public(value) for name, value in config.task.items() if value is not None}
    head: dict[str, Any] = {"library_name": "peft" if config.lora else "transformers"}
    if base == config.model and "/" in base:
        head["base_model"] = base
    if data.get("use") == "when2call" and "train" not in data and "dataset" in data:
        head["datasets"] = [data["dataset"]]
    head["tags"] = ["askrl", "grpo", "trl", *(["lora"] if config.lora else [])]
    page = _TEXT.format(
        title=here,
        what="A LoRA adapter" if config.lora else "A fine-tuned copy",
        base=base,
        data=_settings(data),
        rewards="\n".join(f"  - {_settings(reward)}" for reward in config.rewards),
        snippet=(ADAPTER if config.lora else _MODEL).format(base=base, here=here),
    )
    return f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n\n{page}"


def _settings(section: Mapping[str, Any]) -> str:
    """`use`, then the other keys: "certainty (weight 1.0, belief grounded)"."""
    rest = ", ".join(f"{key} {public(value)}" for key, value in section.items() if key != "use")
    return f"`{section.get('use')}`" + (f" ({rest})" if rest else "")


def public(value: Any) -> Any:
    """The value; of an absolute path its last part."""
    if isinstance(value, Mapping):
        return {name: public(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [public(inner) for inner in value]
    if isinstance(value, str | Path) and Path(value).is_absolute():
        return Path(value).name
    return value
