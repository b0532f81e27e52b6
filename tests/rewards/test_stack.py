import math

import pytest

from rewards.score import Score
from rewards.stack import RewardSpec, build
from tasks.completion import render
from tasks.errors import InputError
from tasks.tool_schema import ToolCall
from tests.rewards.worked import ASK, task

LEEDS = ToolCall("find_train", {"city": "Leeds"})
CALL_ROW = task("A train to Leeds, please.", "tool_call", LEEDS)
ASK_ROW = task("I need a train.", "request_for_info", LEEDS, held_out="city")
PLAIN = [{"use": "format"}, {"use": "tool_match"}, {"use": "action_class"}]


@pytest.fixture
def own_rewards(tmp_path, monkeypatch):
    """Write a user's module into a folder that the process runs in."""
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        monkeypatch.setattr("sys.path", list(__import__("sys").path))
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        __import__("importlib").invalidate_caches()

    return write


def test_the_total_is_the_weighted_sum_of_what_applies():
    stack = build(
        [{"use": "format", "weight": 0.5}, {"use": "tool_match", "weight": 2}, {"use": "action_class"}]
    )
    called = stack.score(CALL_ROW, render("r", LEEDS))
    assert called.total == 3.5
    assert {name: score.value for name, score in called.columns.items()} == {
        "format": 1.0,
        "tool_match": 1.0,
        "action_class": 1.0,
    }
    asked = stack.score(ASK_ROW, render("r", ASK))
    assert asked.total == 1.5
    assert asked.columns["tool_match"].value is None
    assert (stack.names, stack.weights) == (("format", "tool_match", "action_class"), (0.5, 2.0, 1.0))


def test_the_range_spans_every_column_and_none():
    assert build(PLAIN).range == (0.0, 3.0)
    assert build([{"use": "certainty", "scope": "all"}]).range == (0.0, 3.0)
    penalised = build([*PLAIN, {"use": "grounding_penalty", "weight": 0.2, "warmup_steps": 40}])
    assert penalised.range == pytest.approx((-0.2, 3.0))
    assert build([{"use": "signed_grounding", "weight": -1}]).range == pytest.approx((-2.0, 0.2))


def test_warm_up_grows_linearly():
    spec = RewardSpec("format", warmup_steps=40)
    assert [spec.factor(step) for step in (0, 10, 40, 400)] == [0.0, 0.25, 1.0, 1.0]
    assert RewardSpec("format").factor(0) == 1.0


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([], "at least one reward"),
        ("format", "at least one reward"),
        ([{"weight": 1.0}], "name a reward"),
        ([{"use": "formt"}], "did you mean 'format'"),
        ([{"use": "feasibility"}], "unknown reward 'feasibility'"),
        ([{"use": "certainty", "beleif": "grounded"}], "did you mean 'belief'"),
        ([{"use": "certainty", "belief": "grounde"}], "did you mean 'grounded'"),
        ([{"use": "certainty", "epsilon": 2.0}], "epsilon is 2.0"),
        ([{"use": "format", "weight": "heavy"}], "expected float"),
        ([{"use": "format", "weight": math.inf}], "finite"),
        ([{"use": "format", "warmup_steps": -1}], "warmup_steps is -1"),
        ([*PLAIN, {"use": "certainty"}], "certainty stands in place of action_class"),
        ([PLAIN[0], {"use": "certainty", "scope": "all"}], "certainty stands in place of format"),
        ([{"use": "certainty"}, {"use": "certain_label"}], "in place of action_class, and so does certainty"),
        ([{"use": "tool_match"}, {"use": "signed_grounding"}], "in place of tool_match"),
        ([{"use": "no_such_package.reward"}], "neither a module"),
        ([{"use": "os.path"}], "neither a module"),
    ],
)
def test_a_list_that_cannot_be_used_is_one_clear_error(entries, message):
    with pytest.raises(InputError, match=message) as error:
        build(entries, "x.yaml: rewards")
    assert str(error.value).startswith("x.yaml: rewards")
    assert "\n" not in str(error.value)


def test_a_users_own_module_with_a_config(own_rewards):
    own_rewards(
        "own_bonus",
        "from dataclasses import dataclass\n"
        "from rewards.score import Score\n"
        "@dataclass(frozen=True)\n"
        "class Config:\n"
        "    bonus: float = 0.5\n"
        "def RANGE(config): return 0.0, config.bonus\n"
        "def score(task, completion, config): return Score(config.bonus, {}, 'own')\n",
    )
    stack = build([{"use": "own_bonus.score", "bonus": 0.25}])
    assert stack.score(CALL_ROW, "x").columns["score"] == Score(0.25, {}, "own")
    assert stack.range == (0.0, 0.25)
    with pytest.raises(InputError, match="did you mean 'bonus'"):
        build([{"use": "own_bonus.score", "bonsu": 1}])


def test_a_users_own_function_without_a_config(own_rewards):
    own_rewards("own_length", "def brevity(task, completion): return -float(len(completion.answer))\n")
    stack = build([{"use": "own_length.brevity"}])
    assert stack.names == ("brevity",)
    assert stack.score(CALL_ROW, "four").total == -4.0
    assert stack.range == (-math.inf, math.inf)
    with pytest.raises(InputError, match="takes no options"):
        build([{"use": "own_length.brevity", "x": 1}])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import no_such_library\ndef score(t, c): return 1.0\n", "no_such_library"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("def score(t): return 1.0\n", "must take"),
        ("score = 3\n", "neither a module"),
        ("raise SystemExit(0)\n", "cannot be imported .SystemExit: 0"),
        ("Config = 5\ndef score(t, c): return 1.0\n", "is no dataclass"),
        ("class Config: ...\ndef score(t, c): return 1.0\n", "is no dataclass"),
        ("def RANGE(config): return 1\ndef score(t, c): return 1.0\n", "RANGE.config. must return two"),
        ("def RANGE(config): return 1, 0\ndef score(t, c): return 1.0\n", "the lower first"),
        ("def REPLACES(config): return 1\ndef score(t, c): return 1.0\n", "REPLACES.config. must return"),
    ],
)
def test_a_users_module_that_cannot_be_used(own_rewards, text, message):
    name = f"own_broken_{abs(hash(text))}"
    own_rewards(name, text)
    with pytest.raises(InputError, match=message):
        build([{"use": f"{name}.score"}])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return float('nan')", r"returned nan \(float\)"),
        ("return float('-inf')", r"returned -inf \(float\)"),
        ("return 'good'", r"returned 'good' \(str\)"),
        ("return [1.0]", r"returned \[1.0\] \(list\)"),
        ("return Score('a')", r"returned 'a' \(str\)"),
        ("return Score(1.0, {'n': 'x'})", r"a Score whose part 'n' is 'x' \(str\)"),
        ("return Score(1.0, {'n': float('nan')})", r"a Score whose part 'n' is nan"),
        ("return Score(1.0, [])", r"a Score with parts that are \[\]"),
        ("return Score(1.0, {}, 3)", "a Score whose reason is 3"),
        ("raise SystemExit(0)", r"raised SystemExit: 0 \(.*py, line 2\)"),
        ("return completion.answer[9]", r"raised IndexError: .* \(.*py, line 2\); mend the reward"),
    ],
)
def test_a_reward_of_the_users_that_fails_is_one_error(own_rewards, tmp_path, body, said):
    name = f"own_odd_{abs(hash(body))}"
    own_rewards(name, f"from rewards.score import Score\ndef odd(task, completion): {body}\n")
    stack = build([{"use": "format"}, {"use": f"{name}.odd"}])
    with pytest.raises(InputError, match=said) as error:
        stack.score(CALL_ROW, "x")
    assert f"reward {name}.odd" in str(error.value)
    assert str(tmp_path / f"{name}.py") in str(error.value)


def test_numbers_of_other_types_count(own_rewards):
    own_rewards("own_numpy", "import numpy\ndef half(task, completion): return numpy.float32(0.5)\n")
    found = build([{"use": "own_numpy.half"}]).score(CALL_ROW, "x").columns["half"].value
    assert (found, type(found)) == (0.5, float)


def test_a_sum_beyond_every_float_is_an_error(own_rewards):
    own_rewards("own_huge", "def huge(task, completion): return 1e308\n")
    with pytest.raises(InputError, match="weighted sum of the rewards is not a finite number"):
        build([{"use": "own_huge.huge", "weight": 1e10}]).score(CALL_ROW, "x")


def test_a_users_file_without_a_dot_is_told_the_mend(own_rewards, tmp_path, monkeypatch):
    own_rewards("brevity", "def score(task, completion): return 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match=r"needs a dotted path, file and function: use: brevity\.score"):
        build([{"use": "brevity"}])


def test_the_same_reward_twice_has_two_names():
    assert build([{"use": "format"}, {"use": "format"}]).names == ("format", "format_2")


def test_tasks_and_completions_must_pair_up():
    with pytest.raises(ValueError, match="1 tasks for 2 completions"):
        build(PLAIN).score_batch([CALL_ROW], ["a", "b"])
