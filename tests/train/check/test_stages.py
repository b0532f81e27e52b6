"""What `askrl check` says about the stages of training on exported rows."""

from pathlib import Path

import pytest

from tasks.errors import InputError
from train.check import check

RECIPES = Path(__file__).resolve().parents[3] / "recipes"


def said(capsys: pytest.CaptureFixture[str], name: str, *overrides: str, world: int = 1) -> str:
    check(str(RECIPES / name), overrides, world)
    return capsys.readouterr().out


def test_batch_memory_and_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    imitation = said(capsys, "qd_imitate.yaml", "trainer.gradient_accumulation_steps=4", world=4)
    assert "1 a device x 4 ranks x 4 gradient_accumulation_steps = 16 rows" in imitation
    assert "87,293,952 parameters in the adapter" in imitation  # 36 x 32 x the widths of seven layers
    assert "missing: data is not given" in imitation
    assert "generation" not in imitation
    pairs = said(capsys, "qd_pairs.yaml")
    assert "= 16 pairs" in pairs
    assert "adapter is not given: rank 32 on all linear layers assumed" in pairs
    assert "missing: adapter is not given; set adapter=FOLDER" in pairs


def test_an_adapter_and_data_that_are_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text('{"r": 8, "lora_alpha": 16, "target_modules": ["q_proj"]}')
    told = said(capsys, "qd_pairs.yaml", f"data={tmp_path}", f"adapter={tmp_path}")
    assert "2,359,296 parameters in the adapter" in told  # 36 x 8 x (4,096 + 4,096)
    assert told.endswith("known failures\n  none\n")
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(InputError, match="is no adapter"):
        check(str(RECIPES / "qd_pairs.yaml"), [f"adapter={tmp_path}"])


@pytest.mark.parametrize(
    ("override", "fault"),
    [
        ("data=./nowhere", "key 'data': no file or folder"),
        ("adapter=./nowhere", "key 'adapter': no file or folder"),
        ("trainer.gradient_accumulation_steps=0", "gradient_accumulation_steps is 0; it is at least 1"),
        ("trainer.fsdp=true", "there is one"),
        ("trainer.deepspeed={train_micro_batch_size_per_gpu: 4}", "wants micro-batches of 4"),
        ("stop_done_share=2", "between 0 and 1"),
    ],
)
def test_what_cannot_be(override: str, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        check(str(RECIPES / "qd_pairs.yaml"), [override])


def test_a_run_without_data_ends_before_anything_heavy() -> None:
    from train.recipe import load

    config = load(RECIPES / "qd_pairs.yaml").config
    with pytest.raises(InputError, match="data is not given; set data=FOLDER"):
        config.preflight(1)
