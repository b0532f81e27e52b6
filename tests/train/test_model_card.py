"""The card names what the policy was made of, and nothing of the machine."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from train.grpo_config import Config, Lora
from train.model_card import card, write_card
from train.run_dir import RunDir

REWARDS = ({"use": "format", "weight": 0.5}, {"use": "certainty", "weight": 1.0, "belief": "grounded"})


def config(folder: Path, model: str, task: dict[str, Any], lora: Lora | None = None) -> Config:
    return Config(model=model, task=task, rewards=REWARDS, output_dir=folder / "my_run", lora=lora)


def head(text: str) -> Any:
    return yaml.safe_load(text.split("---\n")[1])


def test_an_adapter_of_a_hub_model(tmp_path: Path) -> None:
    task = {"use": "when2call", "train": None, "dataset": "nvidia/When2Call", "subset": "train_pref"}
    text = card(config(tmp_path, "Qwen/Qwen2.5-3B-Instruct", task, Lora(8, 16)))
    assert head(text) == {
        "library_name": "peft",
        "base_model": "Qwen/Qwen2.5-3B-Instruct",
        "datasets": ["nvidia/When2Call"],
        "tags": ["askrl", "grpo", "trl", "lora"],
    }
    assert 'AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-3B-Instruct")' in text
    assert 'PeftModel.from_pretrained(base, "my_run")' in text
    assert "- data: `when2call` (dataset nvidia/When2Call, subset train_pref)\n" in text
    assert "  - `format` (weight 0.5)\n  - `certainty` (weight 1.0, belief grounded)\n" in text


@pytest.mark.parametrize("lora", [None, Lora(8, 16)])
def test_folders_are_named_by_their_last_part(tmp_path: Path, lora: Lora | None) -> None:
    task = {"use": "when2call", "train": str(tmp_path / "rows.jsonl"), "dataset": "nvidia/When2Call"}
    text = card(config(tmp_path, str(tmp_path / "base_model"), task, lora))
    assert str(tmp_path) not in text
    assert "`base_model`" in text
    assert "train rows.jsonl" in text
    assert not {"base_model", "datasets"} & head(text).keys()
    assert ("PeftModel" in text) == (lora is not None)
    compile(text.split("```python\n")[1].split("```")[0], "card", "exec")


def test_it_takes_the_place_of_another_on_rank_0(tmp_path: Path) -> None:
    settings = config(tmp_path, "mini", {"use": "mini"})
    (tmp_path / "README.md").write_text("base_model: None")
    write_card(RunDir(tmp_path, writer=False), settings)
    assert (tmp_path / "README.md").read_text() == "base_model: None"
    write_card(RunDir(tmp_path), settings)
    assert (tmp_path / "README.md").read_text() == card(settings)
