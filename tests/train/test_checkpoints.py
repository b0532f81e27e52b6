"""Only whole checkpoints are resumed from; what a broken one lacks is said."""

import json
from pathlib import Path

import pytest

from tests.train.checkpoint_files import STATES, checkpoint, safetensors, torch_zip
from train.checkpoints import fault, is_complete, last_checkpoint


def cut(file: Path, size: int = 20) -> None:
    file.write_bytes(file.read_bytes()[:-size])


def test_incomplete_checkpoints_do_not_count(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path / "absent") is None
    good = checkpoint(tmp_path, 10)
    (checkpoint(tmp_path, 11) / "trainer_state.json").write_text('{"global_step": 1')
    (checkpoint(tmp_path, 12) / "adapter_model.safetensors").unlink()
    (checkpoint(tmp_path, 13) / "adapter_model.safetensors").write_bytes(b"")
    (checkpoint(tmp_path, 14) / "trainer_state.json").unlink()
    (checkpoint(tmp_path, 15) / "trainer_state.json").write_text('{"global_step": 14}')
    (tmp_path / "checkpoint-99-old").mkdir()
    (tmp_path / "checkpoint-final").mkdir()
    assert last_checkpoint(tmp_path) == good


@pytest.mark.parametrize("name", STATES)
def test_a_state_that_is_missing_or_cut_off(name: str, tmp_path: Path) -> None:
    place = checkpoint(tmp_path, 3)
    assert fault(place) == ""
    cut(place / name)
    assert fault(place) == f"{name}: cut off"
    (place / name).unlink()
    assert fault(place) == f"{name}: missing"


@pytest.mark.parametrize("name", ["model.safetensors", "adapter_model.safetensors"])
@pytest.mark.parametrize("kept", [0, 4, 30, -1])
def test_weights_that_are_cut_off(name: str, kept: int, tmp_path: Path) -> None:
    place = checkpoint(tmp_path, 3, weights=name)
    (place / name).write_bytes((place / name).read_bytes()[:kept])
    assert fault(place).startswith(f"{name}: ")


def test_each_rank_has_random_numbers_of_its_own(tmp_path: Path) -> None:
    place = checkpoint(tmp_path, 3)
    (place / "rng_state.pth").rename(place / "rng_state_0.pth")
    torch_zip(place / "rng_state_1.pth")
    assert is_complete(place)
    cut(place / "rng_state_1.pth")
    assert fault(place) == "rng_state_1.pth: cut off"
    (place / "rng_state_1.pth").unlink()
    assert fault(place) == "rng_state_1.pth: missing"  # one rank alone writes a file without a number
    torch_zip(place / "rng_state_10.pth")
    for rank in range(1, 10):
        assert fault(place) == f"rng_state_{rank}.pth: missing"
        torch_zip(place / f"rng_state_{rank}.pth")
    assert is_complete(place)


def test_deepspeed_keeps_optimizer_and_schedule_in_a_folder(tmp_path: Path) -> None:
    place = checkpoint(tmp_path, 3)
    (place / "optimizer.pt").unlink()
    (place / "scheduler.pt").unlink()
    (place / "global_step3").mkdir()
    assert fault(place) == "global_step3: no optimizer"
    states = torch_zip(place / "global_step3" / "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt")
    assert is_complete(place)
    cut(states)
    assert fault(place) == f"global_step3/{states.name}: cut off"


def test_fsdp_keeps_the_optimizer_in_one_file_or_a_folder(tmp_path: Path) -> None:
    place = checkpoint(tmp_path, 3)
    (place / "optimizer.pt").rename(place / "optimizer.bin")
    assert is_complete(place)
    (place / "optimizer.bin").unlink()
    (place / "optimizer_0").mkdir()
    assert is_complete(place)


def test_sharded_weights_must_all_stand(tmp_path: Path) -> None:
    place = checkpoint(tmp_path, 3, weights="model-00001-of-00002.safetensors")
    shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    assert fault(place) == "no weights"
    (place / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    assert fault(place) == f"{shards['b']}: missing"
    safetensors(place / shards["b"])
    assert is_complete(place)
