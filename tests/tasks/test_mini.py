"""The miniature world: same format as When2Call, unseen tools, honest noise."""

import json
from collections import Counter

import pytest

from rewards.label_certainty import label_reliability
from tasks import mini
from tasks.errors import InputError
from tasks.tool_task import ToolTask


def names(tasks: tuple[ToolTask, ...]) -> set[str]:
    return {tool.name for task in tasks for tool in task.tools}


def test_same_seed_same_rows_and_hash() -> None:
    config = mini.Config(train_rows=50)
    first, second = (mini.load(config, "train", 3) for _ in range(2))
    assert first == second
    assert first.hashes != mini.load(config, "train", 4).hashes


def test_tools_of_the_test_split_never_occur_in_training() -> None:
    config = mini.Config(train_rows=600, test_rows=300)
    seen, unseen = (names(mini.load(config, split, 0).tasks) for split in ("train", "test"))
    assert len(unseen) > 100
    assert not seen & unseen


def test_classes_are_balanced_as_in_the_real_test_data() -> None:
    shares = Counter[str](task.gold for task in mini.load(mini.Config(test_rows=3000), "test", 0).tasks)
    for action, share in (("tool_call", 0.355), ("request_for_info", 0.291), ("cannot_answer", 0.355)):
        assert shares[action] / 3000 == pytest.approx(share, abs=0.03)


def test_gold_follows_from_the_request() -> None:
    for task in mini.load(mini.Config(train_rows=300), "train", 1).tasks:
        words = task.user_text.split()
        if task.gold == "tool_call":
            assert task.gold_call is not None
            assert task.tool(task.gold_call.name) is not None
            assert set(task.gold_call.arguments) <= set(words)
        elif task.gold == "request_for_info":
            assert task.held_out is not None
            assert task.held_out not in words
        else:
            target = json.loads(task.source["answers"]["tool_call"])["name"]
            assert task.tool(target) is None


def test_noise_relabels_the_stated_shares_of_training_rows_and_no_test_row() -> None:
    noise = mini.LabelNoise(ask_as_call=0.6, call_as_ask=0.3)
    config = mini.Config(train_rows=3000, test_rows=200, label_noise=noise)
    clean, noisy = mini.load(mini.Config(train_rows=3000), "train", 0), mini.load(config, "train", 0)
    truth = Counter(task.gold for task in clean.tasks)
    assert noisy.counts["noise_ask_as_call"] / truth["request_for_info"] == pytest.approx(0.6, abs=0.05)
    assert noisy.counts["noise_call_as_ask"] / truth["tool_call"] == pytest.approx(0.3, abs=0.05)
    assert mini.load(config, "test", 0).tasks == mini.load(mini.Config(test_rows=200), "test", 0).tasks


def test_the_text_tells_wrong_labels_from_right_ones() -> None:
    noise = mini.LabelNoise(ask_as_call=0.6, call_as_ask=0.3)
    clean = mini.load(mini.Config(train_rows=1000), "train", 0).tasks
    noisy = mini.load(mini.Config(train_rows=1000, label_noise=noise), "train", 0).tasks
    weights: dict[bool, list[float]] = {True: [], False: []}
    for before, after in zip(clean, noisy, strict=True):
        weights[before.gold == after.gold].append(label_reliability(after, form="product"))
    right, wrong = weights[True], weights[False]
    assert sum(right) / len(right) > 0.95
    assert sum(wrong) / len(wrong) < 0.15


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_noise_that_is_no_share_is_refused(share: float) -> None:
    with pytest.raises(InputError, match=r"ask_as_call.*0 to 1"):
        mini.LabelNoise(ask_as_call=share)


def test_no_rows_are_refused() -> None:
    with pytest.raises(InputError, match="train_rows"):
        mini.Config(train_rows=0)
