"""The stages of training on exported rows, for real: what they learn, leave and resume."""

import json
from pathlib import Path
from typing import Any

import pytest

from tasks.errors import InputError
from tests.train.stage_rows import export, imitation, imitation_row, pair_row, preference
from train import imitate, lineage, prefer
from train.checkpoints import last_checkpoint
from train.metrics_log import records

pytestmark = pytest.mark.slow

ROWS = [imitation_row(i, weight=0.5 + i % 3) for i in range(12)]
PAIRS = [
    *(pair_row(i, weight=0.5 + i % 3) for i in range(6)),
    *(pair_row(i, "stop_done", "stop_done") for i in range(6, 8)),
    *(pair_row(i, "not_done", "not_done") for i in range(8, 14)),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(tmp_path_factory.mktemp("export"), imitation=ROWS, pairs=PAIRS)


@pytest.fixture(scope="module")
def stage_a(tiny_qwen3: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("a") / "stage_a"
    imitate.run(imitation(tiny_qwen3, data, folder, trainer={"learning_rate": 1e-2}))
    return folder


def tensors(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    found: dict[str, Any] = load_file(folder / "adapter_model.safetensors")
    return found


def equal(one: Path, other: Path) -> bool:
    a, b = tensors(one), tensors(other)
    return a.keys() == b.keys() and all(a[name].equal(b[name]) for name in a)


def metrics(folder: Path, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(line[name] for name in names) for line in records(folder / "metrics.jsonl")]


def test_imitation_leaves_an_adapter_and_what_it_was_made_of(stage_a: Path, data: Path) -> None:
    names = {path.name for path in stage_a.iterdir()}
    assert {
        "adapter_model.safetensors", "adapter_config.json", "README.md", "recipe.yaml", "rows.json",
        "lineage.json", "metrics.jsonl", "summary.json", "finished.json", "data.json",
    } <= names  # fmt: skip
    assert [step for (step,) in metrics(stage_a, "step")] == [1, 2, 3]
    (first,), *_, (last,) = metrics(stage_a, "loss")
    assert last < first
    assert any(tensor.abs().sum() > 0 for name, tensor in tensors(stage_a).items() if "lora_B" in name)
    assert json.loads((stage_a / "rows.json").read_text()) == {"ask": 8, "stop": 4, "too long": 0}
    known = json.loads((stage_a / "lineage.json").read_text())
    assert known["parent"] is None
    assert known["data"] == {"imitation.jsonl": lineage.file_digest(data / "imitation.jsonl")}
    assert known["recipe"]["trainer.learning_rate"] == 1e-2
    assert str(stage_a.parent) not in (stage_a / "lineage.json").read_text()
    assert str(stage_a.parent) not in (stage_a / "README.md").read_text()


def test_the_loss_is_on_the_action_alone(tiny_qwen3: Path, data: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    from train import stage_run
    from train.run_dir import RunDir
    from train.stage_data import imitation as read

    config = imitation(tiny_qwen3, data, tmp_path / "run")
    parts = stage_run.Parts(str(tiny_qwen3), stage_run.training_arguments(config))
    run_dir = RunDir.open(tmp_path / "run", {}, {})
    trainer = stage_run.build(config, parts, read(config), run_dir, imitate._trainer)
    tokenizer = AutoTokenizer.from_pretrained(tiny_qwen3)
    for row, given in zip(trainer.train_dataset, ROWS, strict=True):
        target = [label for label in row["labels"] if label != -100]
        assert tokenizer.decode(target) == given["completion"][0]["content"] + "<|im_end|>\n"
        assert given["prompt"][0]["content"] in tokenizer.decode(row["input_ids"])
    batch = next(iter(trainer.get_train_dataloader()))
    assert set(batch) == {"input_ids", "attention_mask", "labels", "weight"}
    trainer.watchdog.stop()


def test_pairs_are_learned_against_a_frozen_copy(
    tiny_qwen3: Path, data: Path, stage_a: Path, tmp_path: Path
) -> None:
    config = preference(
        tiny_qwen3, data, tmp_path / "stage_b", stage_a,
        kinds=["ask_ask", "ask_stop", "stop_done", "not_done"], exclude_reasons=["stop_done"],
        trainer={"learning_rate": 1e-2, "num_train_epochs": 2},
    )  # fmt: skip
    before = {file: file.read_bytes() for file in stage_a.rglob("*") if file.is_file()}
    prefer.run(config)
    folder = tmp_path / "stage_b"
    assert before == {file: file.read_bytes() for file in stage_a.rglob("*") if file.is_file()}
    assert not list(folder.rglob("ref"))  # neither in the folder nor in a checkpoint
    assert last_checkpoint(folder)
    names = list(tensors(folder))
    assert names == list(tensors(stage_a))
    assert not any("ref" in name.split(".") for name in names)
    assert not equal(folder, stage_a)
    (first, margin), *_, (last, grown) = metrics(folder, "loss", "rewards/margins")
    assert first == pytest.approx(0.6931, abs=1e-4)  # the reference is the policy that starts
    assert margin == 0.0
    assert last < first
    assert grown > 0.0
    assert json.loads((folder / "rows.json").read_text()) == {
        "ask_ask (outcome)": 6, "not_done (not_done)": 6, "too long": 0,
    }  # fmt: skip
    known = json.loads((folder / "lineage.json").read_text())
    assert known["parent"]["name"] == "stage_a"
    assert known["parent"]["digest"] == lineage.weights_digest(stage_a)
    assert known["parent"]["lineage"] == json.loads((stage_a / "lineage.json").read_text())
    assert known["base"] == known["parent"]["lineage"]["base"]


@pytest.mark.parametrize("stage", ["imitate", "prefer"])
def test_a_run_that_was_stopped_ends_in_the_same_tensors(
    stage: str, tiny_qwen3: Path, data: Path, stage_a: Path, tmp_path: Path
) -> None:
    def run(folder: Path, steps: int) -> None:
        trainer = {"max_steps": steps, "learning_rate": 1e-2, "num_train_epochs": 9}
        if stage == "imitate":
            imitate.run(imitation(tiny_qwen3, data, folder, trainer=trainer))
        else:
            prefer.run(preference(tiny_qwen3, data, folder, stage_a, trainer=trainer))

    run(tmp_path / "whole", 4)
    run(tmp_path / "halves", 2)
    run(tmp_path / "halves", 4)
    names = ("step", "loss", "grad_norm", "learning_rate")
    assert metrics(tmp_path / "halves", *names) == metrics(tmp_path / "whole", *names)
    assert len(metrics(tmp_path / "whole", "step")) == 4
    assert equal(tmp_path / "halves", tmp_path / "whole")
    stamp = (tmp_path / "halves" / "adapter_model.safetensors").stat().st_mtime_ns
    run(tmp_path / "halves", 4)  # has finished
    assert (tmp_path / "halves" / "adapter_model.safetensors").stat().st_mtime_ns == stamp


def test_imitation_goes_on_with_an_adapter(
    tiny_qwen3: Path, data: Path, stage_a: Path, tmp_path: Path
) -> None:
    config = imitation(tiny_qwen3, data, tmp_path / "more", lora=None, adapter=str(stage_a))
    imitate.run(config)
    assert list(tensors(tmp_path / "more")) == list(tensors(stage_a))
    assert metrics(tmp_path / "more", "loss")[0] < metrics(stage_a, "loss")[0]


def test_rows_longer_than_max_length_are_told(
    tiny_qwen3: Path, data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    imitate.run(imitation(tiny_qwen3, data, tmp_path / "run", max_length=41))
    left_out = json.loads((tmp_path / "run" / "rows.json").read_text())["too long"]
    assert 0 < left_out < 12
    assert f"{left_out} of 12 rows are longer than max_length 41" in caplog.text
    with pytest.raises(InputError, match="max_length 5 leaves out all of the 12 rows"):
        imitate.run(imitation(tiny_qwen3, data, tmp_path / "none", max_length=5))


def test_an_adapter_of_another_base(
    tiny_qwen: Path, tiny_qwen3: Path, data: Path, stage_a: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        prefer.run(preference(tiny_qwen, data, tmp_path / "run", stage_a))
    assert f"the base {tiny_qwen3.name}, and model is {tiny_qwen.name}" in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_parquet_and_json_lines_are_the_same_rows(
    tiny_qwen3: Path, data: Path, stage_a: Path, tmp_path: Path
) -> None:
    from datasets import Dataset

    folder = tmp_path / "parquet"
    folder.mkdir()
    Dataset.from_list(PAIRS).to_parquet(str(folder / "pairs.parquet"))
    for name, where in (("lines", data), ("parquet", folder)):
        prefer.run(preference(tiny_qwen3, where, tmp_path / "out" / name, stage_a))
    assert equal(tmp_path / "out" / "lines", tmp_path / "out" / "parquet")
