"""The documentation is true: links lead somewhere, commands and files that it names exist, examples run."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
ASKRL = [sys.executable, "-m", "train.cli"]


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of one language, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def askrl(*arguments: str | Path, cwd: Path) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [*ASKRL, *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    made = set(re.findall(r"(?:^ +|`)make ([a-z-]+)", text, re.MULTILINE))
    assert made <= targets
    recipes = re.findall(r"\brecipes/[\w/.-]+\.yaml", text)
    assert [name for name in recipes if not (ROOT / name).exists()] == []


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if page != "index.md" and f"({page})" not in index] == []


def test_examples_are_under_ten_lines() -> None:
    for block in [*blocks("CONTRIBUTING.md", "python"), *blocks("CONTRIBUTING.md", "yaml")]:
        assert len([line for line in block.splitlines() if line.strip()]) < 10


@pytest.mark.slow
def test_the_recipe_of_the_readme_passes_check(tmp_path: Path) -> None:
    (recipe,) = blocks("README.md", "yaml")
    (tmp_path / "first.yaml").write_text(recipe, encoding="utf-8")
    askrl("check", "first.yaml", cwd=tmp_path)


@pytest.mark.slow
def test_reward_task_and_recipe_of_contributing_run(tmp_path: Path) -> None:
    from tasks import mini

    (recipe,) = blocks("CONTRIBUTING.md", "yaml")
    compile(recipe, "recipe", "exec")
    rows = mini.generate(mini.Config().train_rows, "train", 0)[:40]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    for name in ("train.jsonl", "test.jsonl"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    for block in blocks("CONTRIBUTING.md", "python")[:2]:
        (tmp_path / block.split()[1]).write_text(block, encoding="utf-8")
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (reward,) = re.findall(r"`- (\{use: my_rewards.*\})`", contributing)
    (task,) = re.findall(r"`task: (\{use: my_tasks.*\})`", contributing)
    recipe = recipe.replace("{use: mini}", task)
    recipe = recipe.replace("{use: action_class}]", f"{{use: action_class}}, {reward}]")
    (tmp_path / "mine.yaml").write_text(recipe, encoding="utf-8")
    askrl("check", "mine.yaml", cwd=tmp_path)
    long = {"task": rows[0], "completion": f"<reasoning>r</reasoning><answer>{'so ' * 50}</answer>"}
    short = {"task": rows[0], "completion": "<reasoning>r</reasoning><answer>no</answer>"}
    (tmp_path / "said.jsonl").write_text(json.dumps(long) + "\n" + json.dumps(short) + "\n", encoding="utf-8")
    first, second = map(json.loads, askrl("score", "mine.yaml", "said.jsonl", cwd=tmp_path).splitlines())
    assert second["total"] == pytest.approx(first["total"] + 0.2)


def test_the_example_of_askrl_score(tmp_path: Path) -> None:
    given, printed = blocks("docs/recipes.md", "json")
    (tmp_path / "said.jsonl").write_text(given, encoding="utf-8")
    told = askrl("score", ROOT / "recipes/mini/grpo_certainty.yaml", "said.jsonl", cwd=tmp_path)
    assert told == printed


def test_the_generator_of_contributing_generates() -> None:
    from rollout.generators.protocol import Request, Sampling

    scope: dict[str, Any] = {}
    exec(blocks("CONTRIBUTING.md", "python")[2], scope)
    echo = scope["Echo"]()
    (done,) = asyncio.run(echo.generate([Request((1, 2, 3))], Sampling(max_new_tokens=2)))
    assert done.token_ids == (1, 2)
    assert len(done.logprobs) == 2


def test_the_environment_of_the_docs_answers() -> None:
    scope: dict[str, Any] = {"__name__": "example"}
    exec(blocks("docs/generators.md", "python")[0], scope)
    config = scope["Config"]()
    assert scope["reply"](None, ["no"], config)[0]["content"] == "say please"
    assert scope["reply"](None, ["no", "please"], config) is None
