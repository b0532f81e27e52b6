"""Where adapters are published: in memory where there is room, else on disk, for servers where they look."""

import logging
from pathlib import Path
from types import SimpleNamespace

import pytest

from rollout.generators import Vllm
from train import rollouts
from train.grpo_config import Config, Lora
from train.rollouts import publishing_folder


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What stands for /dev/shm, with 100 bytes free."""
    folder = tmp_path / "shm"
    folder.mkdir()
    monkeypatch.setattr(rollouts, "_MEMORY", folder)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100))
    return folder


def test_in_memory_while_there_is_room(
    memory: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = publishing_folder(tmp_path / "run", rank=1, needed=100)
    assert found.parent == memory
    assert found.name.endswith("-rank1")
    assert publishing_folder(tmp_path / "other", rank=1) != found
    with caplog.at_level(logging.WARNING):
        assert publishing_folder(tmp_path / "run", rank=1, needed=101) == tmp_path / "run/published/rank1"
    assert "0 MiB free" in caplog.text


def test_what_a_killed_run_left_makes_room_first(memory: Path, tmp_path: Path) -> None:
    found = publishing_folder(tmp_path / "run", rank=0)
    (found / "step3-1").mkdir(parents=True)
    publishing_folder(tmp_path / "run", rank=1)
    assert found.exists()
    publishing_folder(tmp_path / "run", rank=0, needed=1000)
    assert not found.exists()


def test_servers_look_beside_the_run(memory: Path, tmp_path: Path) -> None:
    assert publishing_folder(tmp_path / "run", 0, shared=True, needed=1000) == tmp_path / "run/published"


@pytest.mark.parametrize(
    ("model", "lora", "ranks", "size"),
    [
        # 24 layers, rank 2 on q (896 + 896) and v (896 + 128), 4 bytes: 540,672; the old one and the new one
        ("Qwen/Qwen2.5-0.5B-Instruct", Lora(2, 4, targets=("q_proj", "v_proj")), 1, 2 * 540_672),
        ("Qwen/Qwen2.5-0.5B-Instruct", Lora(2, 4, targets=("q_proj", "v_proj")), 8, 16 * 540_672),
        ("someone/unknown", Lora(2, 4), 1, 2 * 2**30),
        ("someone/unknown", None, 1, 0),
    ],
)
def test_the_room_for_the_adapters_of_all_ranks(
    model: str, lora: Lora | None, ranks: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", str(ranks))
    config = Config(
        model=model, task={}, rewards=({"use": "format"},), output_dir=Path("out"), lora=lora,
        generator=Vllm("vllm"),
    )  # fmt: skip
    assert rollouts._needed(config) == size
