"""The demonstration: the same start trained with and without certainty, on labels that are often wrong.

Runs a small study (`train.study`) of three cells, `before`, `plain` and `certainty`, and prints one table of
what the policies do on tools they have never seen, and where the plots are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from train import study

TITLES = {"before": "before training", "plain": "plain GRPO", "certainty": "certainty-weighted GRPO"}
HEAD = "| policy | accuracy | macro-F1 | invented calls on ask rows | n |\n|---|---:|---:|---:|---:|"


@dataclass(frozen=True, slots=True)
class Config:
    """Fields of a `job: train.demo` recipe."""

    recipe: Path
    """The recipe whose policy is shown before and after training."""
    plain: tuple[str, ...]
    """Overrides that take certainty out of it."""
    labels: tuple[str, ...]
    """Overrides that set the noise of the labels."""
    output_dir: Path
    steps: int = 80
    seed: int = 0

    def preflight(self, world: int) -> None:
        """Raise `InputError` for overrides that do not fit the recipe."""
        plan(self).preflight(world)


def plan(config: Config) -> study.Config:
    """The study behind the demonstration."""
    cells = {
        "before": {"set": ["trainer.max_steps=0"]},
        "plain": {"set": list(config.plain)},
        "certainty": {},
    }
    settings = (f"trainer.max_steps={config.steps}",)
    return study.Config(
        config.recipe, cells, {"labels": config.labels}, (config.seed,), config.output_dir, set=settings
    )


def run(config: Config) -> None:
    """Train both policies side by side, evaluate all three, print the table. Raises if one of them fails."""
    three = plan(config)
    study.run(three)
    found = {cell: runs[config.seed] for (_, cell), runs in study.results(three).items()}
    print(f"\nUnseen tools, {config.steps} steps, labels: {', '.join(config.labels) or 'clean'}\n")
    print(HEAD)
    for name, title in TITLES.items():
        print(_line(title, found[name]))
    print(f"\nPlots, transcripts and metrics: {config.output_dir}/runs/labels/*/{config.seed}/")


def _line(title: str, result: Mapping[str, Any]) -> str:
    invented = result["hallucinated_call_rate"]["missing_argument"]
    return (
        f"| {title} | {result['accuracy']:.3f} | {result['macro_f1']:.3f} | {invented:.3f} | {result['n']} |"
    )
