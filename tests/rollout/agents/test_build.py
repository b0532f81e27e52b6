"""Roles from a recipe: one engine a model, pins of what words depend on, nothing left running on an error."""

from dataclasses import replace
from pathlib import Path

import pytest

from rollout import generators
from rollout.agents.build import Engines, build_roles, pin
from rollout.agents.config import MiniRole, ModelRole
from rollout.agents.mini import Walker
from rollout.generators.scripted import Scripted
from tasks.errors import InputError

SCRIPTED = generators.config.Scripted("scripted", "tests.rollout.agents.scripts.talk")


def test_roles_of_one_model_share_an_engine(tiny_qwen: Path) -> None:
    one = ModelRole(str(tiny_qwen), generator=SCRIPTED)
    built = build_roles(one, replace(one, temperature=0.5), one, word_cap=8, memo_folder=None)
    assert len(built.engines.built) == 1
    assert built.speaker is not None
    assert built.speaker.sampling.max_new_tokens == 400
    built.close()


def test_limits_by_role_and_for_models_that_think(tiny_qwen: Path) -> None:
    engines = Engines()
    one = ModelRole(str(tiny_qwen), generator=SCRIPTED)
    assert engines.speaker(replace(one, thinking_factor=3), 300).sampling.max_new_tokens == 900
    assert engines.speaker(replace(one, max_new_tokens=20), 300).sampling.max_new_tokens == 20
    engines.close()


def test_pins_change_with_what_words_depend_on_and_nothing_else(tiny_qwen: Path, tmp_path: Path) -> None:
    one = ModelRole(str(tiny_qwen), generator=SCRIPTED)
    changed = [
        replace(one, temperature=0.5), replace(one, max_new_tokens=9), replace(one, thinking_factor=2),
        replace(one, constrained=True), replace(one, generator=generators.Transformers()),
    ]  # fmt: skip
    assert len({pin(role) for role in [one, *changed]}) == 1 + len(changed)
    batches = [replace(one, generator=generators.Transformers(batch_size=size)) for size in (1, 2)]
    assert len({pin(role) for role in batches}) == 1
    copy = tmp_path / tiny_qwen.name
    copy.symlink_to(tiny_qwen)
    assert pin(replace(one, model=str(copy))) == pin(one)  # its content, not its place
    assert str(tiny_qwen.parent) not in pin(one)


def test_scripted_roles() -> None:
    mini = MiniRole("mini", slip=0.25, eager=0.5)
    built = build_roles(mini, MiniRole("mini"), MiniRole("mini"), word_cap=8, memo_folder=None)
    assert built.roles.questioner == Walker(0.25, 0.5)
    assert built.speaker is None
    assert built.pins["questioner"] == "mini/0.25/0.5"
    built.close()


def test_an_error_leaves_no_engine(tiny_qwen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Scripted] = []
    monkeypatch.setattr(Scripted, "close", lambda self: closed.append(self))
    one = ModelRole(str(tiny_qwen), generator=SCRIPTED)
    broken = ModelRole("/nowhere/model", generator=SCRIPTED)
    with pytest.raises(InputError, match="/nowhere/model"):
        build_roles(one, broken, one, word_cap=8, memo_folder=None)
    assert len(closed) == 1


@pytest.mark.parametrize(
    ("wrong", "told"),
    [({"thinking_factor": 0}, "thinking_factor is 0"), ({"max_new_tokens": 0}, "max_new_tokens is 0")],
)
def test_wrong_settings_of_a_role(wrong: dict[str, int], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ModelRole("a/b", **wrong)  # type: ignore[arg-type]


def test_shares_of_a_scripted_questioner() -> None:
    with pytest.raises(InputError, match=r"slip is 1\.5, not a share"):
        MiniRole("mini", slip=1.5)
