import re
from typing import Any

import pytest

from rollout.environments import build
from rollout.environments.second_try import SAID
from tasks.errors import InputError
from tests.rollout.test_converse import TASK
from train import mini_model


def test_a_reply_that_cannot_be_read_is_said_to_be_so() -> None:
    environment = build({"use": "second_try", "max_turns": 3})
    assert environment.max_turns == 3
    good = "<reasoning>r</reasoning><answer>a</answer>"
    assert environment.reply(TASK, [good]) is None
    assert environment.reply(TASK, ["<answer>a", good]) is None
    messages = environment.reply(TASK, [good, "<answer>a"])
    assert messages is not None
    assert messages[0]["role"] == "user"
    assert messages[0]["content"].startswith("i cannot use that: no reasoning block. please")


def test_the_miniature_world_can_read_what_it_is_told() -> None:
    words = mini_model.tokenizer()
    fixed = re.sub(r"\{problem\}|…", "no", SAID)
    ids = words(fixed)["input_ids"]
    assert words.unk_token_id not in ids
    assert {f"<{tag}>" for tag in ("reasoning", "/reasoning", "answer", "/answer")} <= set(
        words.convert_ids_to_tokens(ids)
    )


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({}, "known: second_try"),
        ({"use": "secondtry"}, "did you mean 'second_try'"),
        ({"use": "second_try", "max_turns": 0}, "max_turns is 0"),
        ({"use": "second_try", "max_turns": True}, "max_turns is True"),
        ({"use": "second_try", "tries": 3}, "unknown key 'tries'"),
        ({"use": "no.such"}, "cannot be imported"),
        ({"use": "tasks.errors"}, "is no environment"),
    ],
)
def test_what_cannot_be_is_named(section: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        build(section)
