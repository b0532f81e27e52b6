"""Fifty steps on the miniature with vLLM's completions end where those with the policy's own do."""

import statistics
from pathlib import Path

import pytest

from tests.train.ranks import RECIPES, start
from train.metrics_log import records

pytest.importorskip("vllm", reason="vLLM comes with the cpu and cuda extras")
pytestmark = pytest.mark.soak

STEPS, LAST = 50, 10
ARGUMENTS = [
    "lora={r: 16, alpha: 32}", "trainer.learning_rate=2e-3", f"trainer.max_steps={STEPS}",
    "trainer.save_strategy=no", "trainer.disable_tqdm=true",
]  # fmt: skip
GENERATORS = {
    "transformers": "generator={kind: transformers}",
    "vllm": "generator={kind: vllm, gpu_memory_utilization: 0.05, enforce_eager: true}",
}


def last_rewards(folder: Path, *more: str) -> tuple[float, float]:
    """Mean reward of the first step and of the last ones."""
    log = folder.with_suffix(".log")
    recipe = RECIPES / "mini" / "grpo_certainty.yaml"
    assert start(1, recipe, [f"output_dir={folder}", *ARGUMENTS, *more], log).wait() == 0, log.read_text()
    rewards = [line["reward"] for line in records(folder / "metrics.jsonl")]
    assert len(rewards) == STEPS
    return rewards[0], statistics.mean(rewards[-LAST:])


def test_engines_end_within_the_spread_of_seeds(tmp_path: Path) -> None:
    ends: dict[str, list[float]] = {name: [] for name in GENERATORS}
    for seed in range(3):
        for name, generator in GENERATORS.items():
            before, after = last_rewards(tmp_path / f"{name}{seed}", generator, f"seed={seed}")
            print(f"{name}, seed {seed}: reward {before:.3f} -> {after:.3f}")
            assert after > before
            ends[name].append(after)
    spread = max(ends["transformers"]) - min(ends["transformers"])
    difference = statistics.mean(ends["vllm"]) - statistics.mean(ends["transformers"])
    print(f"difference {difference:+.3f}, spread of the seeds {spread:.3f}")
    assert abs(difference) <= spread
