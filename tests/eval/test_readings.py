"""Readings of episodes and of arms: hand-worked, from records on disk, and refused in one line."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from eval.arm_readings import arm_readings
from eval.readings import METRICS, OF_THE_END, Read, near_duplicates
from rollout.agents import Said, Spent
from rollout.agents.config import MiniRole
from rollout.agents.policies.config import GoldEvidence, Oracle
from rollout.episode import Episode, Limits, Turn
from rollout.record import Config, run
from rollout.shards import read
from tasks.errors import InputError
from tasks.multi_hop import Gold
from tests.eval.test_need_metrics import GRAPH
from train.cli import main

MINI = MiniRole("mini", slip=0.3, eager=0.8)
GOLD = Gold("hand", "t", ("Tom",), GRAPH, "t")


def hand(*fetched: tuple[str, ...]) -> Episode:
    """A run of 4,000 tokens on the worked graph."""
    turns = tuple(Turn("who?", "", (), uids, "", "", "", 9, Spent(90, 9)) for uids in fetched)
    return Episode(
        "hand", "t", "", "hand", 0, {}, Limits(), Said("", Spent(0, 0)), turns, "policy_stop", "", "", "Tom",
        Spent(3000, 1000),
    )  # fmt: skip


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readings") / "records"
    task = {"use": "mini_hops", "split": "test", "tasks": 30}
    run(Config(task, MINI, MiniRole("mini"), folder, seeds=(0, 1)))
    return folder


def recorded(tmp_path: Path, **changes: object) -> Path:
    folder = tmp_path / "records"
    task = {"use": "mini_hops", "split": "test", "tasks": 12}
    run(Config(task, MINI, MiniRole("mini"), folder, **changes))  # type: ignore[arg-type]
    return folder


@pytest.mark.parametrize(
    ("questions", "share"),
    [
        (["who founded the old harbour town oslo", "who then founded the old harbour town"], 1 / 2),
        (["red fox jumps over hill", "red fox jumps over hill near dark lake quickly"], 1 / 2),
        (["red fox jumps high", "red fox jumps high near dark lake every night"], 0.0),
        (["red fox jumps", "red fox jumps"], 0.0),
        (["one"], 0.0),
    ],
)
def test_near_duplicates_share_four_words_and_half_of_all(questions: list[str], share: float) -> None:
    assert near_duplicates(questions) == share
    assert near_duplicates([]) is None


def test_the_worked_sets_of_words() -> None:
    five, six, eight = "red fox jump hill sea", "red fox jump hill oak pine", "red fox jump hill a1 a2 a3 a4"
    assert near_duplicates([five, six]) == 1 / 2  # 4 of 7
    assert near_duplicates([five, eight]) == 0.0  # 4 of 9


def test_an_arm_is_the_mean_over_its_runs(records: Path) -> None:
    (arm,) = arm_readings(records)
    from rollout.graphs import Golds

    golds = Golds.of(records)
    reads = [Read.of(one, golds.of_task(one.suite, one.task, "")) for one in read(records)]
    assert (arm.runs, len(arm.tasks), arm.reasons.total()) == (60, 30, 60)
    for name in METRICS:
        values = [value for one in reads if (value := one.at()[name]) is not None]
        assert arm.defined[name] == len(values)
        assert arm.mean(name) == (pytest.approx(sum(values) / len(values)) if values else None)
    found = arm.to_dict()
    assert found["coverage_after"][-1] == pytest.approx(found["mean"]["coverage"])
    assert found["coverage_after"][0] == 0.0
    assert found["by_depth"]["0"]["needs"] == sum(one.course.by_depth(0)[0][1] for one in reads)
    assert found["decisions"]["malformed"] == 0


def test_a_prefix_has_no_answer_and_no_tokens_of_its_end(records: Path) -> None:
    from rollout.graphs import Golds

    golds = Golds.of(records)
    episode = next(one for one in read(records) if len(one.turns) > 2)
    one = Read.of(episode, golds.of_task(episode.suite, episode.task, ""))
    part, whole = one.at(2), one.at()
    assert set(part) == set(whole) == set(METRICS)
    assert {name for name in METRICS if part[name] is None} >= set(OF_THE_END)
    assert part["question_tokens"] == sum(turn.question_tokens for turn in episode.turns[:2])
    assert whole["tokens"] == episode.spent.total
    assert (part["asks"], whole["asks"]) == (2, len(episode.turns))
    assert one.at(99) == whole


def test_the_evidence_of_the_answer_is_read_at_any_prefix() -> None:
    run = hand(("a",), ("c",), ("b",))
    gold = replace(GOLD, answer_need="s3")
    found = [Read.of(run, gold).at(asks)["answer_node_coverage"] for asks in range(4)]
    assert found == [0.0, 0.0, 1.0, 1.0]
    assert Read.of(run, GOLD).at()["answer_node_coverage"] is None


def test_the_worked_price_of_a_need() -> None:
    run = hand(("a",), ("b",), ("c",), ("d1", "d2"))
    assert Read.of(run, GOLD).at()["tokens_per_need"] == 1000.0  # 4,000 tokens, 4 needs
    assert Read.of(hand(()), GOLD).at()["tokens_per_need"] is None


def test_ceilings(tmp_path: Path) -> None:
    for number, policy in enumerate((GoldEvidence("gold"), Oracle("oracle"))):
        (arm,) = arm_readings(recorded(tmp_path / str(number), policy=policy))
        assert arm.mean("coverage") == 1.0
        assert arm.stops.stop_given_done == 1.0
    assert arm.mean("answer_em") == 1.0


def test_the_command(records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["readings", str(records), "--json", "--plot", str(tmp_path / "a.png")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == 60
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert main(["readings", str(records)]) == 0
    told = capsys.readouterr().out
    assert "mini_hops · prompted: 60 runs, 30 tasks, 30 clusters" in told
    assert f"| coverage | {found['mean']['coverage']:.3f} | 60 |" in told


def test_one_arm_twice_is_refused(records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["readings", str(records), str(records)])
    assert "two arms of one suite and policy" in capsys.readouterr().err


def test_what_cannot_be_read_is_named(records: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(records, broken)
    (shard,) = (broken / "records").glob("*.jsonl")
    lines = shard.read_text().splitlines(keepends=True)
    shard.write_text("".join([*lines[:2], lines[2][:40]]))
    assert arm_readings(broken)[0].runs == 2  # its writer is at the last line
    shard.write_text("".join([*lines[:2], "{}\n"]))
    with pytest.raises(InputError, match=r"row 3: a record of version None"):
        arm_readings(broken)
    shard.write_text("".join(lines))
    graphs = (broken / "graphs.jsonl").read_text().splitlines(keepends=True)
    (broken / "graphs.jsonl").write_text("".join(graphs[1:]))
    with pytest.raises(InputError, match=r"jsonl, row [0-9]+: task .* has no graph in .*graphs\.jsonl"):
        arm_readings(broken)
    (broken / "graphs.jsonl").write_text('{"suite": 1}\n')
    with pytest.raises(InputError, match=r"graphs\.jsonl, row 1: not a graph"):
        arm_readings(broken)
    (broken / "graphs.jsonl").unlink()
    with pytest.raises(InputError, match=r"no graphs\.jsonl beside it"):
        arm_readings(broken)
    with pytest.raises(InputError, match="no records there"):
        arm_readings(tmp_path / "none", records / "graphs.jsonl")
