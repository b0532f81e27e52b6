"""Every recipe that ships: YAML and Python at once, accepted by check, its twin a twin."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from train.check import check
from train.recipe import load

ROOT = Path(__file__).resolve().parents[2]
RECIPES = sorted((ROOT / "recipes").rglob("*.yaml"))
LAUNCH = 'launch: object = __name__ == "__main__" and __import__("train").launch(__file__); r"""'


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT / "recipes")) for path in paths]


def body(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "recipes" / name).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("path", RECIPES, ids=names(RECIPES))
def test_yaml_and_python_at_once(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert (lines[0], lines[-1]) == (LAUNCH, '# """')
    assert text.count('"""') == 2
    compile(text, str(path), "exec")
    assert "job" in yaml.safe_load(text)


@pytest.mark.parametrize("world", [1, 2, 4])
@pytest.mark.parametrize("path", RECIPES, ids=names(RECIPES))
def test_check_accepts_it(path: Path, world: int, capsys: pytest.CaptureFixture[str]) -> None:
    check(str(path), [], world)
    assert f"job: {load(path).job}" in capsys.readouterr().out


@pytest.mark.parametrize("path", RECIPES, ids=names(RECIPES))
def test_the_run_directory_is_named_after_the_recipe(path: Path) -> None:
    name = path.relative_to(ROOT / "recipes").with_suffix("")
    assert body(str(path.relative_to(ROOT / "recipes")))["output_dir"] == f"runs/{name}"


@pytest.mark.parametrize("folder", ["", "mini/"])
def test_the_baseline_differs_in_the_reward_alone(folder: str) -> None:
    weighted, plain = body(f"{folder}grpo_certainty.yaml"), body(f"{folder}grpo_baseline.yaml")
    assert {reward["use"] for reward in plain["rewards"]} == {"format", "tool_match", "action_class"}
    assert {key for key in weighted if weighted[key] != plain[key]} == {"rewards", "output_dir"}


def test_the_settings_of_the_paper() -> None:
    for name, model in (("grpo_certainty", "Qwen2.5-3B"), ("grpo_certainty_7b", "Qwen2.5-7B")):
        config = load(ROOT / "recipes" / f"{name}.yaml").config
        assert config.model == f"Qwen/{model}-Instruct"
        assert config.task["subset"] == "train_pref"
        assert config.lora.r == 64
        assert len(config.lora.targets) == 7
        assert (config.trainer["num_train_epochs"], config.trainer["learning_rate"]) == (1, 5e-6)
