"""What has the right type and still is no value, key by key."""

import inspect
import math
import re

import pytest

from tasks.errors import InputError
from train.ranges import LOSSES, TRACKERS, check_seed, check_trainer


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("temperature", 0.0, "it is above 0"),
        ("temperature", -1.0, "it is above 0"),
        ("top_k", -1, "it is at least 0"),
        ("top_p", 0.0, "it is above 0"),
        ("top_p", 1.5, "it is 0 to 1"),
        ("min_p", -0.1, "it is 0 to 1"),
        ("repetition_penalty", 0.0, "it is above 0"),
        ("max_completion_length", 0, "it is at least 1"),
        ("loss_type", "drgrpo", "did you mean 'dr_grpo'?; known: bnpo"),
        ("learning_rate", 0.0, "it is above 0"),
        ("learning_rate", math.inf, "give a finite number"),
        ("beta", -0.1, "it is at least 0"),
        ("logging_steps", 0.0, "it is above 0"),
        ("logging_steps", 2.5, "it is a whole number, or a share"),
        ("save_steps", -5.0, "it is above 0"),
        ("warmup_steps", -1.0, "it is at least 0"),
        ("weight_decay", -1.0, "it is at least 0"),
        ("data_seed", -1, "it is 0 to 4294967295"),
        ("report_to", "wandbb", "did you mean 'wandb'?"),
        ("report_to", ["wandb", "nope"], "'nope'; known: azure_ml"),
    ],
)
def test_a_value_out_of_its_range_is_named(key: str, value: object, said: str) -> None:
    with pytest.raises(InputError) as caught:
        check_trainer({key: value})
    assert f"trainer.{key} is " in str(caught.value)
    assert said in str(caught.value)


def test_values_at_the_ends_are_fine() -> None:
    check_trainer(
        {
            "temperature": 0.01, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "max_completion_length": 1,
            "loss_type": "grpo", "learning_rate": 1e-9, "logging_steps": 0.1, "save_steps": 3.0, "beta": 0.0,
            "report_to": "none", "data_seed": None, "max_steps": -1, "bf16": False, "min_lr": None,
        }
    )  # fmt: skip
    check_trainer({"report_to": ["wandb", "tensorboard"]})
    check_trainer({"report_to": "all"})
    check_seed("seed", 2**32 - 1)
    for seed in (-1, 2**32):
        with pytest.raises(InputError, match=f"seed is {seed}; it is 0 to"):
            check_seed("seed", seed)


def test_the_names_are_those_of_the_libraries() -> None:
    from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK
    from trl import GRPOTrainer

    assert set(TRACKERS) == set(INTEGRATION_TO_CALLBACK)
    loss = inspect.getsource(GRPOTrainer._compute_loss)
    lines = re.findall(r"self\.loss_type (?:==|in) (.*?):\n", loss)
    assert set(LOSSES) == {name for line in lines for name in re.findall(r'"(\w+)"', line)}
