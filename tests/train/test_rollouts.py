"""GRPO through a real vLLM engine: one for the whole file, shared by its runs."""

import asyncio
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rollout import generators
from rollout.generators import GenerationError, Needs, Vllm
from tasks.strict import build
from train import grpo, mini_model
from train.adapter_files import save_adapter

pytest.importorskip("vllm", reason="vLLM comes with the cpu and cuda extras")
pytestmark = pytest.mark.slow

ENGINE = {"kind": "vllm", "gpu_memory_utilization": 0.05, "enforce_eager": True, "dtype": "float32"}
TRAINER = {
    "max_steps": 2, "learning_rate": 1e-2, "lr_scheduler_type": "constant", "num_generations": 4,
    "per_device_train_batch_size": 16, "max_completion_length": 24, "gradient_checkpointing": False,
    "logging_steps": 1, "save_steps": 2, "report_to": "none", "disable_tqdm": True,
}  # fmt: skip


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return mini_model.build(mini_model.WarmStart(steps=120, rows=400), tmp_path_factory.mktemp("mini"))


@pytest.fixture(scope="module")
def engine(start: Path) -> Iterator[Any]:
    generator, _ = generators.build(
        build(Vllm, ENGINE, "test"), str(start), needs=Needs(max_model_len=400, lora_rank=8)
    )
    yield generator
    generator.close()


@pytest.fixture(autouse=True)
def shared(engine: Any, start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs take the engine of this file and leave it open."""
    words = mini_model.tokenizer()
    monkeypatch.setattr(generators, "build", lambda *_, **__: (engine, words))
    monkeypatch.setattr(engine, "close", lambda: None)


def config(start: Path, folder: Path, **trainer: Any) -> grpo.Config:
    recipe = {
        "model": str(start),
        "task": {"use": "mini", "train_rows": 64},
        "rewards": [{"use": "format"}, {"use": "tool_match", "credit": "partial"}, {"use": "action_class"}],
        "generator": ENGINE,
        "lora": {"r": 8, "alpha": 16},
        "output_dir": str(folder),
        "trainer": TRAINER | trainer,
    }
    return build(grpo.Config, recipe, "test", folder)


def metrics(folder: Path, *names: str) -> list[list[Any]]:
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [[line[name] for name in names] for line in lines]


def test_every_step_samples_from_the_policy_of_the_moment(start: Path, tmp_path: Path) -> None:
    """Log-probabilities of engine and trainer agree after each update, so each adapter was served."""
    grpo.run(config(start, tmp_path, max_steps=4))
    found = metrics(tmp_path, "sampling/sampling_logp_difference/max", "sampling/masked_share", "grad_norm")
    assert len(found) == 4
    assert all(difference < 1e-4 and masked == 0.0 for difference, masked, _ in found)
    assert all(norm > 0 for *_, norm in found)  # the policy does move
    shares = metrics(tmp_path, "time/generation", "time/sync", "time/update", "time/rewards", "idle_share")
    assert all(sum(line[:4]) == pytest.approx(1.0) and 0 < line[4] < 1 for line in shares)


def test_a_resumed_run_goes_on_as_if_it_had_never_stopped(start: Path, tmp_path: Path) -> None:
    grpo.run(config(start, tmp_path / "whole", max_steps=4))
    grpo.run(config(start, tmp_path / "halves"))
    grpo.run(config(start, tmp_path / "halves", max_steps=4))
    names = ("step", "loss", "reward", "grad_norm", "completions/mean_length")
    halves, whole = (metrics(tmp_path / name, *names) for name in ("halves", "whole"))
    assert len(whole) == 4
    for ours, theirs in zip(halves, whole, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-3, abs=1e-5)


def test_a_policy_that_was_not_published_is_noticed(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pitfall of all pitfalls: the engine answers with the adapter of before."""
    from train.rollouts import Rollouts

    def forgets(self: Rollouts) -> None:
        self.version = 99

    monkeypatch.setattr(Rollouts, "sync_weights", forgets)
    with pytest.raises(GenerationError, match="completions of policy version"):
        grpo.run(config(start, tmp_path))


def test_dialogues_are_trained_on_the_policys_own_tokens(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each completion holds one or two turns and the reply between them, which is masked; only that is."""
    from train.grpo_trainer import Trainer

    batches: list[dict[str, Any]] = []
    inner = Trainer._generate_and_score_completions

    def spy(self: Trainer, inputs: Any) -> Any:
        batches.append(inner(self, inputs))
        return batches[-1]

    monkeypatch.setattr(Trainer, "_generate_and_score_completions", spy)
    settings = config(start, tmp_path, max_completion_length=120)
    settings = dataclasses.replace(settings, environment={"use": "second_try"}, max_prompt_length=250)
    grpo.run(settings)
    masks = [mask for batch in batches for mask in (batch["tool_mask"] * batch["completion_mask"]).tolist()]
    replied = [mask for mask in masks if "0, 1" in str(mask)]
    assert 0 < len(replied) < len(masks)  # some replies of this start cannot be read, not all
    for difference, norm in metrics(tmp_path, "sampling/sampling_logp_difference/max", "grad_norm"):
        assert difference < 1e-4  # of the second turn as well
        assert norm > 0


def test_memory_stays_over_many_swaps(engine: Any, start: Path, tmp_path: Path) -> None:
    import psutil
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = get_peft_model(
        AutoModelForCausalLM.from_pretrained(start), LoraConfig(r=8, target_modules="all-linear")
    )

    def swap(number: int) -> int:
        save_adapter(model, tmp_path / str(number))
        asyncio.run(engine.load_adapter(tmp_path / str(number), number))
        children = psutil.Process().children(recursive=True)
        return sum(child.memory_info().rss for child in children)

    sizes = [swap(number) for number in range(55)]
    assert sizes[4] > 100 * 2**20  # the engine is among them
    assert max(sizes[5:]) < 1.05 * sizes[4]
