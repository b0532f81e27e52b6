"""Weights of rows: with weights of 1 TRL's own trainers, to the last bit; otherwise the worked numbers."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.train.stage_rows import LORA, TRAINER, imitation_row, pair_row
from train.watchdog import Watchdog

pytestmark = pytest.mark.slow

STEPS = {"max_steps": 3, "save_strategy": "no", "num_train_epochs": 2}


def trained(
    kind: str, weighted: bool, model: Path, folder: Path, rows: list[dict[str, Any]], **args: Any
) -> Any:
    """TRL's own trainer, or ours with the same arguments, after its steps."""
    import trl
    from datasets import Dataset

    from train import grpo, weighted_dpo, weighted_sft
    from train.grpo_config import Lora

    classes: dict[str, tuple[Any, Any]] = {
        "sft": (weighted_sft.Trainer, trl.SFTTrainer), "dpo": (weighted_dpo.Trainer, trl.DPOTrainer),
    }  # fmt: skip
    ours, theirs = classes[kind]
    config = {"sft": trl.SFTConfig, "dpo": trl.DPOConfig}[kind]
    arguments = config(output_dir=str(folder), max_length=None, seed=3, **TRAINER | STEPS | args)
    columns = ["prompt", "completion"] if kind == "sft" else ["prompt", "chosen", "rejected"]
    keep = [*columns, "chat_template_kwargs", *(["weight"] if weighted else [])]
    lora = grpo.lora(Lora(**{**LORA, "targets": tuple(LORA["targets"])}))
    policy: dict[str, Any] = {"model": str(model), "peft_config": lora}
    if kind == "dpo":
        policy = {"model": start(model, lora)}
    more = {"watchdog": Watchdog(None, 0, folder)} if weighted else {}
    trainer = (ours if weighted else theirs)(
        **policy, args=arguments, train_dataset=Dataset.from_list(rows).select_columns(keep), **more
    )
    trainer.train()
    return trainer


def start(model: Path, lora: Any) -> Any:
    """An adapter that is not nothing."""
    import torch
    from peft import get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    policy = get_peft_model(AutoModelForCausalLM.from_pretrained(model), lora)
    for name, value in policy.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(value, std=0.1)
    return policy


def losses(trainer: Any) -> list[float]:
    return [line["loss"] for line in trainer.state.log_history if "loss" in line]


@pytest.mark.parametrize("kind", ["sft", "dpo"])
@pytest.mark.parametrize(("rows_a_device", "accumulation"), [(1, 4), (2, 3)])
def test_weights_of_one_are_trls_own_trainer(
    kind: str, rows_a_device: int, accumulation: int, tiny_qwen3: Path, tmp_path: Path
) -> None:
    make = imitation_row if kind == "sft" else pair_row
    rows = [make(i) for i in range(11)]  # the last window of an epoch is smaller
    batch = {"per_device_train_batch_size": rows_a_device, "gradient_accumulation_steps": accumulation}
    own, stock = (trained(kind, w, tiny_qwen3, tmp_path, rows, **batch) for w in (True, False))
    assert len(losses(own)) == 3
    assert losses(own) == losses(stock)
    tensors = dict(stock.model.named_parameters())
    assert tensors
    for name, value in own.model.named_parameters():
        assert value.equal(tensors[name]), name


@pytest.mark.parametrize("kind", ["sft", "dpo"])
def test_weights_change_what_is_learned(kind: str, tiny_qwen3: Path, tmp_path: Path) -> None:
    make = imitation_row if kind == "sft" else pair_row
    plain, other = ([make(i, weight=w if i % 2 else 1.0) for i in range(8)] for w in (1.0, 4.0))
    first, second = (trained(kind, True, tiny_qwen3, tmp_path, rows) for rows in (plain, other))
    assert losses(first) != losses(second)
    # All weights twice as large are the same weights.
    doubled = trained(
        kind, True, tiny_qwen3, tmp_path, [row | {"weight": 2 * row["weight"]} for row in other]
    )
    assert losses(doubled) == pytest.approx(losses(second), rel=1e-6)


def bare(kind: str, **fields: Any) -> Any:
    """A trainer of ours without a model: only what its loss reads."""
    from train import weighted_dpo, weighted_sft

    cls: Any = {"sft": weighted_sft.Trainer, "dpo": weighted_dpo.Trainer}[kind]
    trainer: Any = object.__new__(cls)
    whole = SimpleNamespace(gather=lambda x: x, gather_for_metrics=lambda x: x, num_processes=1)
    trainer.accelerator = SimpleNamespace(**vars(whole), parallelism_config=None)
    trainer._metrics = {"train": DefaultLists(), "eval": DefaultLists()}
    for name, value in fields.items():
        setattr(trainer, name, value)
    return trainer


class DefaultLists(dict[str, list[float]]):
    def __missing__(self, name: str) -> list[float]:
        return self.setdefault(name, [])


def test_the_mean_of_a_window_is_weighted_over_all_of_it() -> None:
    """Guide 7.4: losses 2 and 1 with weights .8333 and 1.6667 in two micro-batches give 1.3333, not 1.5."""
    import torch

    trainer = bare(
        "sft", model=SimpleNamespace(training=True), aux_loss_enabled=False, compute_loss_func=None,
        label_smoother=None, _total_train_tokens=0, _tp_size=1,
        args=SimpleNamespace(loss_type="nll", average_tokens_across_devices=True, max_length=None),
    )  # fmt: skip
    trainer.get_tp_size = lambda: 1
    weights = [1 / 1.2, 2 / 1.2]
    batches = [
        {"input_ids": torch.tensor([[1, 2]]), "attention_mask": torch.ones(1, 2),
         "labels": torch.tensor([[-100, 2]]), "weight": torch.tensor([weight])}
        for weight in weights
    ]  # fmt: skip
    total = trainer._get_num_items_in_batch(batches, torch.device("cpu"))

    def micro(loss: float, batch: dict[str, Any]) -> float:
        mask = torch.tensor([[True]])
        said = SimpleNamespace(
            log_probs=torch.tensor([[-loss]]), label_mask=mask, entropy=torch.zeros(1, 1), is_top1=mask
        )
        return float(trainer.compute_loss(lambda **_: said, batch, num_items_in_batch=total))

    found = [micro(loss, batch) for loss, batch in zip((2.0, 1.0), batches, strict=True)]
    assert sum(found) == pytest.approx(4 / 3, abs=1e-6)


def test_the_worked_losses_of_pairs() -> None:
    """Guide 7.4: beta .1, chosen -10 and rejected -12 against -11 each, and a pair without a margin."""
    import torch

    from train.weighted_dpo import losses as each

    chosen = torch.tensor([-10.0, -11.0], requires_grad=True)
    rejected, reference = torch.tensor([-12.0, -11.0]), torch.tensor([-11.0, -11.0])
    found = each(chosen, rejected, reference, reference, 0.1)
    assert found.tolist() == pytest.approx([0.5981, 0.6931], abs=5e-5)
    (slope,) = torch.autograd.grad(found.sum(), chosen, retain_graph=True)
    assert (-slope / 0.1).tolist() == pytest.approx([0.4502, 0.5], abs=5e-5)
    assert found.detach().mean().item() == pytest.approx(0.6456, abs=1e-4)


@pytest.mark.parametrize("split", [[[0, 1]], [[0], [1]]])
def test_weighted_pairs_of_one_window(split: list[list[int]]) -> None:
    """Guide 7.4: weights 2 and 1 on the two give .6298, in one micro-batch or in two."""
    import torch

    trainer = bare("dpo", model=SimpleNamespace(training=True), beta=0.1)
    weights, chosen, rejected = [2.0, 1.0], [-10.0, -11.0], [-12.0, -11.0]
    trainer.compute_ref_log_probs = lambda _, inputs: torch.full([len(inputs["input_ids"])], -11.0).chunk(2)
    batches = [
        {"input_ids": torch.ones(2 * len(rows), 2, dtype=torch.long),
         "attention_mask": torch.ones(2 * len(rows), 2),
         "completion_mask": torch.tensor([[0, 1]] * 2 * len(rows)),
         "weight": torch.tensor([weights[i] for i in rows])}
        for rows in split
    ]  # fmt: skip
    mean = trainer._get_num_items_in_batch(batches, torch.device("cpu"))
    found = 0.0
    for rows, batch in zip(split, batches, strict=True):
        logs = torch.tensor([[side[i]] for side in (chosen, rejected) for i in rows])
        said = SimpleNamespace(log_probs=logs, entropy=torch.zeros_like(logs))
        loss = trainer.compute_loss(lambda said=said, **_: said, batch, num_items_in_batch=mean)
        found += float(loss) / len(split)  # as TRL divides by the micro-batches of a window
    expected = (2 * -math.log(1 / (1 + math.exp(-0.2))) + math.log(2)) / 3
    assert found == pytest.approx(expected, abs=1e-6)
    assert found == pytest.approx(0.6298, abs=5e-5)
