"""The mini model: its tokenizer round-trips calls, its demonstrations do as they say, its cache is whole."""

import json
import random
from pathlib import Path

import pytest

from tasks import mini
from tasks.completion import parse
from tasks.prompt import render_prompt
from train import mini_model

SMALL = mini_model.WarmStart(steps=2, rows=64, batch=8)


def test_every_prompt_and_demonstration_survives_the_tokenizer() -> None:
    words = mini_model.tokenizer()
    rng = random.Random(0)
    for task in mini.load(mini.Config(train_rows=200), "train", 0).tasks:
        text = mini_model.demonstration(task, rng, eager=0.5)
        ids = words(render_prompt(task, words) + text)["input_ids"]
        assert words.unk_token_id not in ids
        back = words.decode(words(text)["input_ids"], skip_special_tokens=True)
        before, after = parse(text), parse(back)
        assert (after.action, after.calls, after.well_formed) == (before.action, before.calls, True)


def test_an_eager_demonstrator_always_calls_and_a_patient_one_is_right() -> None:
    rng = random.Random(0)
    for task in mini.load(mini.Config(train_rows=200), "train", 0).tasks:
        assert parse(mini_model.demonstration(task, rng, eager=1.0)).action == "tool_call"
        assert parse(mini_model.demonstration(task, rng, eager=0.0)).action == task.gold


def test_the_cache_is_keyed_by_content_and_holds_a_model(tmp_path: Path) -> None:
    folder = mini_model.build(SMALL, tmp_path)
    stamp = (folder / "model.safetensors").stat().st_mtime_ns
    assert mini_model.build(SMALL, tmp_path) == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == stamp
    assert [entry.name for entry in tmp_path.iterdir()] == [folder.name]
    assert json.loads((folder / "config.json").read_text())["model_type"] == "qwen3"


@pytest.mark.parametrize("tools", [0, 2])
def test_the_template_shows_each_tool_once(tools: int) -> None:
    words = mini_model.tokenizer()
    tasks = mini.load(mini.Config(train_rows=200), "train", 0).tasks
    task = next(task for task in tasks if len(task.tools) == tools)
    text = render_prompt(task, words)
    assert text.count("tool ") == tools
    assert text.rstrip().endswith("<|assistant|>")
    assert all(text.count(tool.name) == 1 for tool in task.tools)
