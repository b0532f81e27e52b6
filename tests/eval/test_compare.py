"""Comparisons of arms: the worked readings of the guide, refusals, symmetry, degenerate data in words."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.compare import compare
from eval.pairing import Arm, Pairs, arm, charged, equal_spend, own_stop, pair
from eval.readings import Read
from rollout.agents.config import MiniRole
from rollout.agents.policies.config import Oracle
from rollout.agents.protocol import Said, Spent
from rollout.episode import Episode, Limits, StopReason, Turn
from rollout.record import Config, run
from tasks.errors import InputError
from tasks.multi_hop import Gold
from tasks.need_graph import Uid
from tests.eval.test_need_metrics import GRAPH, A, B, C
from train.cli import main

NAMES = ("one", "other")


def read(
    turns: Sequence[Sequence[Uid]], stop: StopReason = "policy_stop", tokens: Sequence[int] = (),
    task: str = "t", seed: int = 0, cluster: str = "", answer: str = "",
) -> Read:  # fmt: skip
    """An episode of these retrievals; `tokens` are those of its questions."""
    costs = tokens or [1] * len(turns)
    asked = tuple(
        Turn("q", "", (), tuple(map(str, uids)), "", "", "", cost, Spent(0, cost))
        for uids, cost in zip(turns, costs, strict=True)
    )
    episode = Episode(
        "hand", task, "pool", "p", seed, {"questioner": "q", "drafter": "d"}, Limits(), Said(""), asked, stop,
        "", "", answer, Spent(0, sum(costs)),
    )  # fmt: skip
    return Read.of(episode, Gold("hand", task, ("yes",), GRAPH, cluster or task))


RUN_A, RUN_B = read(A.turns), read(B.turns)


def of(*units: tuple[Read, Read]) -> Pairs:
    return Pairs(units, "")


def test_the_worked_equal_spend() -> None:
    assert equal_spend(RUN_A, RUN_B) == (3, 3)
    found = compare(of((RUN_A, RUN_B)), "hand", NAMES)
    assert (found.row("coverage").a, found.row("coverage").b) == pytest.approx((0.8, 0.8))
    recall = found.row("depth_weighted_recall")
    assert (recall.a, recall.b) == pytest.approx((0.9167, 0.5), abs=5e-5)
    assert recall.difference == pytest.approx(0.4167, abs=5e-5)
    assert recall.verdict == "1 clusters: an interval takes at least two"


def test_the_evidence_of_the_answer_is_compared_at_equal_spend() -> None:
    a, b = (Read.of(one.episode, dataclasses.replace(one.gold, answer_need="s3")) for one in (RUN_A, RUN_B))
    row = compare(of((a, b)), "hand", NAMES, secondaries=["answer_node_coverage"]).rows[1]
    assert (row.a, row.b) == (1.0, 0.0)


def test_the_worked_own_stop() -> None:
    assert own_stop(RUN_A, RUN_B) == (5, 3)
    found = compare(of((RUN_A, RUN_B)), "hand", NAMES, "own-stop")
    assert [(found.row(m).a, found.row(m).b) for m in ("coverage", "asks")] == [(1.0, 0.8), (5, 3)]


def test_the_worked_charge() -> None:
    trained = read(A.turns[:2], tokens=[20, 16])
    assert charged(trained, read(B.turns, tokens=[15, 16, 20])) == (2, 2)
    assert charged(trained, read(B.turns[:2], tokens=[15, 16])) == (2, 2)
    assert charged(trained, read(B.turns, tokens=[37, 1, 1])) == (2, 0)


def test_a_cap_cuts_both() -> None:
    found = compare(of((RUN_A, RUN_B)), "hand", NAMES, "own-stop", cap=2)
    assert [(found.row(m).a, found.row(m).b) for m in ("coverage", "deepest")] == [(0.6, 0.6), (2, 1)]


def test_seeds_are_averaged_within_a_task_and_tasks_within_a_cluster() -> None:
    """Cluster x: task 1 with differences of .2 and .4 over its seeds, task 2 with 0; cluster y: .2."""
    done, part, little, none = read(A.turns), read(B.turns), read(A.turns[:1]), read(())
    units = [
        (_as(done, "t1", 0, "x"), _as(part, "t1", 0, "x")),
        (_as(read(A.turns[:2]), "t1", 1, "x"), _as(little, "t1", 1, "x")),
        (_as(none, "t2", 0, "x"), _as(none, "t2", 0, "x")),
        (_as(little, "t3", 0, "y"), _as(none, "t3", 0, "y")),
    ]
    row = compare(of(*units), "hand", NAMES, "own-stop").row("coverage")
    assert row.difference == pytest.approx(((0.2 + 0.4) / 2 / 2 + 0.2) / 2)
    assert (row.tasks, row.clusters) == (3, 2)


def _as(one: Read, task: str, seed: int, cluster: str) -> Read:
    episode = dataclasses.replace(one.episode, task=task, seed=seed)
    return Read.of(episode, dataclasses.replace(one.gold, task=task, cluster=cluster))


def test_pairs_that_are_undefined_on_one_side_are_dropped_and_counted() -> None:
    row = compare(
        of((RUN_A, RUN_B), (RUN_A, read(C.turns))), "hand", NAMES, secondaries=["out_of_order"]
    ).rows[1]
    assert (row.tasks, row.dropped) == (1, 1)
    assert (row.a, row.b) == (0.5, 0.0)


def test_where_no_pair_is_defined_it_is_said() -> None:
    row = compare(of((read(()), read(()))), "hand", NAMES, secondaries=["out_of_order"]).rows[1]
    assert row.verdict == "no pair is defined on both sides"
    assert json.dumps(compare(of((read(()), read(()))), "hand", NAMES).to_dict())


def test_an_arm_against_itself_is_no_difference_and_no_verdict() -> None:
    units = [(_as(RUN_A, f"t{i}", 0, f"t{i}"), _as(RUN_A, f"t{i}", 0, f"t{i}")) for i in range(5)]
    found = compare(of(*units), "hand", NAMES, "own-stop")
    for row in found.rows:
        assert (row.difference, row.verdict) == (0.0, "all clusters have the same mean")
    assert all(one.difference == 0.0 and not one.to_dict()["decided"] for one in found.stops)


def test_stops_are_ratios_of_sums() -> None:
    """Pooled A + B: 1/2 and 7/8, see the guide; against C, whose halt is no decision."""
    a = [_as(RUN_A, "t0", 0, "t0"), _as(RUN_B, "t1", 0, "t1")]
    b = [_as(read(C.turns, "budget"), f"t{i}", 0, f"t{i}") for i in range(2)]
    done, open_ = compare(of(*zip(a, b, strict=True)), "hand", NAMES).stops
    assert (done.a, done.b, done.decision) == (0.5, None, None)
    assert (open_.a, open_.b) == (7 / 8, 1.0)
    assert open_.decision is not None


def test_a_clear_difference_in_stopping_is_decided() -> None:
    stops, goes_on = read(["abc", ("d1", "d2")]), read(["abc", ("d1", "d2"), "a", "b", "c"])
    units = [(_as(stops, f"t{i}", 0, f"t{i}"), _as(goes_on, f"t{i}", 0, f"t{i}")) for i in range(19)]
    units.append((_as(goes_on, "t19", 0, "t19"), _as(goes_on, "t19", 0, "t19")))
    done = compare(of(*units), "hand", NAMES).stops[0]
    assert done.a == pytest.approx(20 / 23)
    assert done.b == pytest.approx(0.25)
    assert done.decision is not None
    assert done.decision.decided


def test_answers_are_compared_exactly_under_one_seed() -> None:
    answers = ["yes"] * 9 + [""] * 2 + ["yes"] * 4
    others = [""] * 9 + ["yes"] * 2 + ["yes"] * 4
    units = [
        (_as(read((), answer=a), f"t{i}", 0, f"t{i}"), _as(read((), answer=b), f"t{i}", 0, f"t{i}"))
        for i, (a, b) in enumerate(zip(answers, others, strict=True))
    ]
    row = compare(of(*units), "hand", NAMES, "own-stop", secondaries=["answer_em"]).rows[1]
    assert row.mcnemar == pytest.approx(0.0654, abs=5e-5)
    twice = [*units, (_as(units[0][0], "t0", 1, "t0"), _as(units[0][1], "t0", 1, "t0"))]
    assert compare(of(*twice), "hand", NAMES, "own-stop", secondaries=["answer_em"]).rows[1].mcnemar is None


RUNS = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d1", "d2", "x"]), max_size=2, unique=True), max_size=6
)


@given(st.lists(st.tuples(RUNS, RUNS), min_size=1, max_size=8), st.sampled_from(["equal-spend", "own-stop"]))
def test_sides_changed_change_signs_alone(runs: list[tuple[list[list[str]], ...]], reading: str) -> None:
    units = [
        (_as(read(a), f"t{i}", 0, f"c{i // 2}"), _as(read(b), f"t{i}", 0, f"c{i // 2}"))
        for i, (a, b) in enumerate(runs)
    ]
    one = compare(of(*units), "hand", NAMES, reading)
    other = compare(of(*((b, a) for a, b in units)), "hand", NAMES, reading)
    for row, back in zip(one.rows, other.rows, strict=True):
        assert (row.a, row.b) == pytest.approx((back.b, back.a), nan_ok=True)
        assert row.difference == pytest.approx(-back.difference, nan_ok=True)
        assert row.p == pytest.approx(back.p, nan_ok=True)
        assert row.dropped == back.dropped


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"reading": "own_stop"}, "reading 'own_stop' is none; did you mean 'own-stop'"),
        ({"secondaries": ["coverag"]}, "did you mean 'coverage'"),
        ({"secondaries": ["coverage"]}, "coverage is the primary one"),
        ({"secondaries": ["deepest", "deepest"]}, "each metric once"),
        ({"secondaries": ["answer_f1"]}, "own end: read it at own-stop, without a cap"),
        ({"secondaries": ["tokens"], "reading": "own-stop", "cap": 2}, "without a cap"),
        ({"secondaries": ["tokens_per_need"]}, "own end"),
    ],
)
def test_what_cannot_be_read_is_refused(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        compare(of((RUN_A, RUN_B)), "hand", NAMES, **wrong)  # type: ignore[arg-type]


def arm_of(*reads: Read, **changes: object) -> Arm:
    units = {(one.episode.task, one.episode.seed): one for one in reads}
    limits = {"cap": 8, "max_turns": 16, "k": 5}
    fields = {"suite": "hand", "policy": "p", "pins": {"questioner": "q", "drafter": "d"}, "limits": limits}
    return Arm(Path("runs/x"), reads=units, **{**fields, **changes})  # type: ignore[arg-type]


def test_arms_that_differ_are_refused_with_what_differs_unless_intersected() -> None:
    one = arm_of(_as(RUN_A, "t1", 0, "t1"), _as(RUN_A, "t2", 0, "t2"))
    pool = _as(RUN_B, "t1", 0, "t1")
    pool = dataclasses.replace(pool, episode=dataclasses.replace(pool.episode, pool="other"))
    for other, told in (
        (
            arm_of(_as(RUN_B, "t2", 0, "t2"), _as(RUN_B, "t9", 0, "t9")),
            "tasks: 1 only in A ('t1'), 1 only in B ('t9')",
        ),
        (arm_of(*(_as(RUN_B, f"t{i}", s, "") for i in (1, 2) for s in (0, 1))), "seeds: 1 only in B (1)"),
        (arm_of(pool, _as(RUN_B, "t2", 0, "t2")), "the pools of 1 runs (task 't1')"),
        (arm_of(*one.reads.values(), pins={"questioner": "z", "drafter": "e"}), "drafter (d and e)"),
        (arm_of(*one.reads.values(), limits={"cap": 16, "max_turns": 16, "k": 5}), "cap (8 and 16)"),
    ):
        with pytest.raises(InputError) as caught:
            pair(one, other)
        assert told in str(caught.value)
        assert "--intersect" in str(caught.value)
        found = pair(one, other, intersect=True)
        assert found.told.startswith(f"compared on {len(found.units)} shared runs; the arms differ in")
        assert told in found.told
        assert next(compare(found, "hand", NAMES).lines()) == found.told
    questioner = arm_of(*one.reads.values(), pins={"questioner": "z", "drafter": "d"})
    assert pair(one, questioner).told == ""


def test_one_task_under_another_seed_each_is_no_pair() -> None:
    one, other = arm_of(_as(RUN_A, "t1", 0, "t1")), arm_of(_as(RUN_A, "t1", 1, "t1"))
    with pytest.raises(InputError, match="share no task and seed"):
        pair(one, other, intersect=True)
    with pytest.raises(InputError, match="of one suite"):
        pair(one, arm_of(suite="else"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("arms")
    for name, walker, extra in (
        ("prompted", MiniRole("mini", slip=0.3, eager=0.8), {}),
        ("oracle", MiniRole("mini"), {"policy": Oracle("oracle")}),
    ):
        task = {"use": "mini_hops", "split": "test", "tasks": 60}
        run(Config(task, walker, MiniRole("mini"), folder / name, **extra))  # type: ignore[arg-type]
    return folder / "oracle", folder / "prompted"


def test_the_command(recorded: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    oracle, prompted = map(str, recorded)
    assert main(["compare", oracle, prompted, "--caps", "2,8", "--json"]) == 0
    two, eight = map(json.loads, capsys.readouterr().out.splitlines())
    assert (two["cap"], eight["cap"]) == (2, 8)
    assert eight["rows"][0]["metric"] == "coverage"
    assert eight["rows"][0]["verdict"] == "decided: A is higher"
    assert main(["compare", oracle, prompted, "--reading", "own-stop"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("mini_hops: A = oracle, B = prompted; read at own-stop; differences are A - B\n")
    assert "| answer_em |" in told
    assert "| P(stop given done), own end | 1.000 |" in told


def test_the_order_of_shards_and_lines_does_not_matter(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    oracle, prompted = map(arm, recorded)
    (shard,) = (recorded[1] / "records").glob("*.jsonl")
    lines = shard.read_text().splitlines(keepends=True)
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "b.jsonl").write_text("".join(lines[30::-1]))
    (tmp_path / "records" / "a.jsonl").write_text("".join(lines[31:]))
    (tmp_path / "graphs.jsonl").write_text((recorded[1] / "graphs.jsonl").read_text())
    one = compare(pair(oracle, prompted), "mini_hops", NAMES)
    assert compare(pair(oracle, arm(tmp_path)), "mini_hops", NAMES) == one


def test_an_arm_of_two_policies_is_refused(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    for folder in recorded:
        (shard,) = (folder / "records").glob("*.jsonl")
        (tmp_path / "records" / f"{folder.name}.jsonl").write_text(shard.read_text())
    (tmp_path / "graphs.jsonl").write_text((recorded[1] / "graphs.jsonl").read_text())
    with pytest.raises(InputError, match="one policy under one setting, but policy is oracle and prompted"):
        arm(tmp_path)
