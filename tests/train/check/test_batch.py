import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import InputError
from train.check.batch import batch_of


def test_worked_by_hand() -> None:
    batch = batch_of(
        {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 8, "num_generations": 8}, world=4
    )
    assert batch.steps_per_generation == 8  # TRL's default: the accumulation
    assert batch.generation == 256  # 8 x 4 x 8
    assert batch.prompts == 32  # 256 / 8
    assert batch.update == 256  # 8 x 4 x 8
    assert batch.updates_per_generation == 1
    assert batch.prompts_per_update == 32


def test_several_updates_on_one_generation() -> None:
    batch = batch_of(
        {
            "per_device_train_batch_size": 4,
            "generation_batch_size": 64,
            "num_generations": 16,
            "num_iterations": 2,
        },
        2,
    )
    assert batch.steps_per_generation == 8  # 64 / (4 x 2)
    assert batch.prompts == 4
    assert batch.updates_per_generation == 16  # 8 micro-batches twice, one each update
    assert batch.prompts_per_update == 0.25


def test_trl_defaults() -> None:
    assert batch_of({}, 1).prompts == 1  # 8 completions of one prompt


def test_the_nearest_valid_values_are_named() -> None:
    with pytest.raises(InputError) as caught:
        batch_of({"per_device_train_batch_size": 6, "num_generations": 8}, 2)
    assert str(caught.value) == (
        "trainer: per_device_train_batch_size 6 x 2 ranks x steps_per_generation 1 = 12 completions "
        "do not divide into groups of num_generations 8; nearest valid: per_device_train_batch_size 4 or 8, "
        "steps_per_generation 2, num_generations 6 or 12"
    )


@pytest.mark.parametrize(
    ("trainer", "world", "fault"),
    [
        ({"num_generations": 1}, 1, "trainer.num_generations is 1; it is at least 2"),
        ({"per_device_train_batch_size": 0}, 1, "trainer.per_device_train_batch_size is 0"),
        ({"steps_per_generation": 0}, 1, "trainer.steps_per_generation is 0"),
        ({"generation_batch_size": 8, "steps_per_generation": 1}, 1, "not both"),
        (
            {"generation_batch_size": 20},
            1,
            "per_device_train_batch_size 8 x 1 rank = 8; nearest valid: 16 or 24",
        ),
        ({}, 0, "--num-processes is 0"),
    ],
)
def test_numbers_out_of_range(trainer: dict[str, int], world: int, fault: str) -> None:
    with pytest.raises(InputError) as caught:
        batch_of(trainer, world)
    assert fault in str(caught.value)


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 12), st.integers(2, 20))
def test_what_is_called_valid_is(per_device: int, world: int, steps: int, group: int) -> None:
    trainer = {
        "per_device_train_batch_size": per_device, "steps_per_generation": steps, "num_generations": group,
    }  # fmt: skip
    try:
        batch = batch_of(trainer, world)
        assert batch.prompts * group == per_device * world * steps
    except InputError as error:
        advice = str(error).partition("nearest valid: ")[2]
        assert advice
        for key, first, second in re.findall(r"(\w+) (\d+)(?: or (\d+))?", advice):
            for value in filter(None, (first, second)):
                batch_of({**trainer, key: int(value)}, world)  # raises if the advice is wrong
