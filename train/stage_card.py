"""The README.md of an adapter that was trained on exported rows, without paths of the machine."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import yaml

from train.model_card import ADAPTER, CARD, public

if TYPE_CHECKING:
    from train.online import Config as OnlineConfig
    from train.run_dir import RunDir
    from train.stage_config import StageConfig

_HOW = {
    "SFTConfig": ("weighted imitation (cross-entropy on the action)", "sft"),
    "GRPOConfig": ("the consequences of its own moves (GRPO)", "grpo"),
    "DPOConfig": ("preference pairs (DPO, sigmoid; the reference is the adapter before)", "dpo"),
}

_TEXT = """\
# {title}

A LoRA adapter of `{base}`, trained by askrl on {how}; `recipe.yaml` beside this file holds every setting,
`lineage.json` what it was trained from.

- rows: {rows}

```python
{snippet}
```
"""


def write_card(run_dir: "RunDir", config: "StageConfig | OnlineConfig", counts: Mapping[str, int]) -> None:
    """Put the card in the place of TRL's; to be called after the adapter is saved. Only rank 0 writes."""
    run_dir.write_text(CARD, card(config, counts))


def card(config: "StageConfig | OnlineConfig", counts: Mapping[str, int]) -> str:
    """The card of a stage's adapter: a head that the hub reads, and a page for a person."""
    base, here = public(config.model), config.output_dir.name
    how, tag = _HOW[config.TRL]
    head: dict[str, Any] = {"library_name": "peft"}
    if base == config.model and "/" in base:
        head["base_model"] = base
    head["tags"] = ["askrl", tag, "trl", "lora"]
    rows = ", ".join(f"{number} {name}" for name, number in counts.items()) or "of one kind"
    page = _TEXT.format(
        title=here, base=base, how=how, rows=rows, snippet=ADAPTER.format(base=base, here=here)
    )
    return f"---\n{yaml.safe_dump(head, sort_keys=False)}---\n\n{page}"
