import re

import pytest

from rewards.stack import build
from train.self_test import ROWS, adversaries, gold_completion, own_rows, self_test

PLAIN = [{"use": "format"}, {"use": "tool_match"}]


@pytest.mark.parametrize(
    "last",
    [
        [{"use": "action_class"}],
        [{"use": "certainty"}],
        [{"use": "certainty", "belief": "emitted"}],
        [{"use": "certainty", "belief": "reference"}],
        [{"use": "certainty", "parameters": "all", "grounding": "whole"}],
        [{"use": "certain_label"}],
        [{"use": "action_class"}, {"use": "proper_score"}],
        [{"use": "action_class"}, {"use": "grounding_penalty", "weight": 0.2, "warmup_steps": 40}],
    ],
    ids=str,
)
def test_sound_stacks_pass(last):
    report = self_test(build([*PLAIN, *last]))
    assert report.ok, report.lines
    named = ", ".join(f"{entry['use']} [-0-9.e]+" for entry in [*PLAIN, *last])
    assert re.fullmatch(f"gold: on average over 40 rows {named}", report.lines[0])
    assert "format 1, tool_match 1, " in report.lines[0]


def test_share_and_mean_of_gold_below_full_certainty_are_reported():
    lines = self_test(build([*PLAIN, {"use": "certainty"}])).lines
    assert "certainty: gold tool_call below full certainty on 2 of 17 rows (12%), mean 0.8824" in lines


def test_so_is_the_support_of_a_label() -> None:
    lines = self_test(
        build([{"use": "format"}, {"use": "certain_label", "trust": 1.0, "scope": "all"}])
    ).lines
    shares = [line for line in lines if "below full certainty" in line]
    assert len(shares) == 1
    assert shares[0].startswith("certain_label: gold tool_call below full certainty on 2 of 17 rows (12%)")


@pytest.mark.parametrize("belief", ["emitted", "reference", "grounded"])
def test_a_certainty_that_tells_no_calls_apart_is_named(belief: str) -> None:
    for product, told in (("raw", False), ("normalised", True)):
        lines = self_test(build([*PLAIN, {"use": "certainty", "belief": belief, "product": product}])).lines
        assert any("certainty: 1 for every call" in line for line in lines) is told


def test_a_refusal_before_a_call_is_well_formed_but_for_that() -> None:
    for row in own_rows():
        text = adversaries(row)["refusal plus call"]
        assert text.count("</answer>") == 1
        assert text.endswith("</tool_call></answer>")


def test_a_stack_in_which_gold_is_beaten_fails():
    """Certainty on the whole reward takes nearly all of it from a right call whose values were not said."""
    report = self_test(build([{"use": "certainty", "scope": "all"}]))
    assert not report.ok
    assert any("wrong tool earns" in line for line in report.lines)


def test_a_reward_that_raises_is_named(tmp_path, monkeypatch):
    (tmp_path / "own_fragile.py").write_text(
        "def last(task, completion): return completion.answer[0] == 'x'\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    report = self_test(build([{"use": "own_fragile.last"}]))
    assert not report.ok
    assert "reward own_fragile.last raised IndexError" in report.lines[0]
    assert "own_fragile.py, line 1" in report.lines[0]
    assert len(report.lines) <= 11


def test_a_reward_outside_its_declared_range_is_named(tmp_path, monkeypatch):
    text = "def RANGE(config): return 0.0, 1.0\ndef wide(task, completion): return 2.0\n"
    (tmp_path / "own_wide.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    report = self_test(build([{"use": "own_wide.wide"}]))
    assert not report.ok
    assert "outside the declared 0 to 1" in report.lines[0]


def test_every_kind_of_adversary_is_tried_on_every_class():
    kinds = {row.gold for row in own_rows()}
    assert kinds == {"tool_call", "request_for_info", "cannot_answer"}
    for row in own_rows():
        found = adversaries(row)
        assert found["empty"] == ""
        assert 90_000 < len(found["100 kB of noise"].encode()) <= 100_000
        assert gold_completion(row) not in found.values()
        assert {"wrong tool", "invented argument", "two answers", "refusal plus call"} <= found.keys()


def test_the_rows_are_our_own():
    assert ROWS.is_file()
    assert "BFCL" not in ROWS.read_text(encoding="utf-8")
