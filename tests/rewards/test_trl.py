import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

from rewards.stack import build
from rewards.trl import Batch, reward_functions, text_of
from tasks.completion import render
from tasks.tool_schema import ToolCall
from tests.rewards.worked import ASK, task

LEEDS = ToolCall("find_train", {"city": "Leeds"})
TASKS = [
    task("A train to Leeds, please.", "tool_call", LEEDS),
    task("I need a train.", "request_for_info", LEEDS, held_out="city"),
]
STACK = build(
    [
        {"use": "format"},
        {"use": "tool_match"},
        {"use": "certainty"},
        {"use": "grounding_penalty", "weight": 0.2, "warmup_steps": 40},
    ]
)
TEXTS = [render("r", LEEDS), render("r", ASK), render("r", LEEDS)]


def call(functions, completions, indices, step=10, **more):
    """As TRL does: one function after the other, with the same arguments."""
    state = SimpleNamespace(global_step=step)
    batch = {
        "prompts": ["p"] * len(completions),
        "completions": completions,
        "completion_ids": [[1]] * len(completions),
    }
    return {
        function.__name__: function(**batch, task_index=indices, trainer_state=state, **more)
        for function in functions
    }


def test_columns_names_none_and_warm_up():
    found = call(reward_functions(STACK, TASKS), TEXTS, [0, 1, 1], step=10)
    assert found == {
        "format": [1.0, 1.0, 1.0],
        "tool_match": [1.0, None, None],
        "certainty": [1.0, 1.0, 0.0],
        "grounding_penalty": [0.0, 0.0, -0.25],
    }


def test_the_batch_is_scored_and_observed_once():
    seen: list[Batch] = []
    logged: dict[str, float] = {}
    functions = reward_functions(STACK, TASKS, seen.append)
    call(functions, TEXTS, [0, 1, 1], step=7, log_metric=logged.__setitem__)
    assert len(seen) == 1
    batch = seen[0]
    assert batch.tasks == (TASKS[0], TASKS[1], TASKS[1])
    assert batch.texts == tuple(TEXTS)
    assert [score.completion.action for score in batch.scores] == [
        "tool_call",
        "request_for_info",
        "tool_call",
    ]
    assert batch.step == 7
    assert batch.seconds.keys() == {"parse", *STACK.names}
    assert logged.keys() == {f"reward_seconds/{name}" for name in batch.seconds}
    assert all(0.0 <= seconds < 0.1 for seconds in logged.values())


def test_the_next_batch_is_scored_anew_even_in_the_same_list():
    functions = reward_functions(STACK, TASKS)
    completions = [TEXTS[0]]
    assert call(functions, completions, [0])["tool_match"] == [1.0]
    completions[0] = TEXTS[1]
    assert call(functions, completions, [0])["tool_match"] == [0.0]


def test_chat_completions_are_read_by_their_text():
    messages = [[{"role": "assistant", "content": text}] for text in TEXTS]
    assert call(reward_functions(STACK, TASKS), messages, [0, 1, 1])["format"] == [1.0, 1.0, 1.0]
    assert text_of([{"role": "assistant", "content": None}]) == ""


def test_a_batch_without_tasks_is_an_error():
    functions = reward_functions(STACK, TASKS)
    with pytest.raises(ValueError, match="task_index"):
        functions[0](prompts=["p"], completions=["x"], completion_ids=[[1]])
    with pytest.raises(ValueError, match="2 tasks for 1 completions"):
        call(functions, ["x"], [0, 1])


def test_trl_calls_rewards_as_the_adapter_expects():
    """The parts of TRL's trainer that the adapter relies on; fails when an upgrade changes them."""
    spec = importlib.util.find_spec("trl")
    assert spec is not None
    assert spec.origin is not None
    source = (Path(spec.origin).parent / "trainer" / "grpo_trainer.py").read_text(encoding="utf-8")
    assert (
        "prompts=prompts, completions=completions, completion_ids=completion_ids_list, **reward_kwargs"
        in source
    )
    assert 'reward_kwargs["trainer_state"] = self.state' in source
    assert 'reward_kwargs["log_metric"] = self._log_metric' in source
