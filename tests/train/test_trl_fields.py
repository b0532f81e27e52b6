import dataclasses
import subprocess
import sys

import pytest

from tasks.errors import InputError
from train.trl_fields import Trl, trainer_arguments, trainer_types


@pytest.mark.slow
@pytest.mark.parametrize("config", ["GRPOConfig", "SFTConfig", "DPOConfig"])
def test_the_names_are_those_of_trl(config: Trl) -> None:
    import trl

    fields = dataclasses.fields(getattr(trl, config))
    assert set(trainer_types(config)) == {field.name for field in fields if field.init}


def test_reading_them_imports_neither_torch_nor_trl() -> None:
    code = (
        "import sys; from train.trl_fields import trainer_types; trainer_types(); "
        "sys.exit(any(name in sys.modules for name in ('torch', 'trl', 'transformers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_values_take_the_types_of_trl_and_only_given_keys_come_back() -> None:
    given = {"learning_rate": "1e-6", "max_steps": 3, "save_steps": 10, "report_to": "none", "bf16": None}
    assert trainer_arguments(given) == {
        "learning_rate": 1e-6, "max_steps": 3, "save_steps": 10.0, "report_to": "none", "bf16": None,
    }  # fmt: skip


def test_each_trainer_has_keys_of_its_own() -> None:
    assert trainer_arguments({"beta": 0.1, "loss_type": ["sigmoid"]}, "DPOConfig")["loss_type"] == ["sigmoid"]
    assert trainer_arguments({"packing": False}, "SFTConfig") == {"packing": False}
    with pytest.raises(InputError, match="unknown key 'num_generations'"):
        trainer_arguments({"num_generations": 8}, "SFTConfig")


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("max_step", 3, "unknown key 'max_step'; did you mean 'max_steps'?"),
        ("max_prompt_length", 3, "unknown key 'max_prompt_length'"),  # gone since TRL 1.0
        ("max_steps", "three", "key 'max_steps' is 'three' (str); expected int"),
        ("max_steps", 3.5, "key 'max_steps' is 3.5 (float); expected int"),
        ("max_steps", True, "key 'max_steps' is True (bool); expected int"),
        ("learning_rate", "fast", "key 'learning_rate' is 'fast' (str); expected float"),
        ("bf16", "yes", "key 'bf16' is 'yes' (str); expected bool or null"),
        ("optim", "adamw_torch_fussed", "did you mean 'adamw_torch_fused'?"),
        ("lr_scheduler_type", "cosin", "did you mean 'cosine'?"),
    ],
)
def test_wrong_keys_and_types_are_named(key: str, value: object, fault: str) -> None:
    with pytest.raises(InputError) as caught:
        trainer_arguments({key: value})
    assert str(caught.value).startswith("trainer: ")
    assert fault in str(caught.value)
