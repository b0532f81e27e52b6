"""Comparisons of arms: the worked readings of the guide, refusals, symmetry, degenerate data in words."""

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.compare import compare
from eval.pairing import arm, equal_spend, own_stop, pair
from eval.readings import Read
from rollout.agents.config import MiniRole
from rollout.agents.policies.config import Oracle
from rollout.record import Config, run
from tasks.errors import InputError
from tests.eval.hand_runs import NAMES, RUN_A, RUN_B, of, of_task, read
from tests.eval.test_need_metrics import A, B, C
from train.cli import main


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


def test_a_cap_cuts_both() -> None:
    found = compare(of((RUN_A, RUN_B)), "hand", NAMES, "own-stop", cap=2)
    assert [(found.row(m).a, found.row(m).b) for m in ("coverage", "deepest")] == [(0.6, 0.6), (2, 1)]
    four = compare(of((RUN_A, RUN_B)), "hand", NAMES, "own-stop", cap=4)
    assert [(four.row(m).a, four.row(m).b) for m in ("coverage", "asks")] == [(1.0, 0.8), (4, 3)]


def test_the_charged_budget_is_read_with_its_questions() -> None:
    """36 tokens buy two questions of 15 and 16, not the third."""
    trained = read(A.turns[:1], tokens=[36])
    found = compare(of((trained, read(B.turns, tokens=[15, 16, 20]))), "hand", NAMES, "charged")
    assert [(found.row(m).a, found.row(m).b) for m in ("coverage", "asks")] == [(0.2, 0.6), (1, 2)]


def test_seeds_are_averaged_within_a_task_and_tasks_within_a_cluster() -> None:
    """Cluster x: task 1 with differences of .2 and .4 over its seeds, task 2 with 0; cluster y: .2."""
    done, part, little, none = read(A.turns), read(B.turns), read(A.turns[:1]), read(())
    units = [
        (of_task(done, "t1", 0, "x"), of_task(part, "t1", 0, "x")),
        (of_task(read(A.turns[:2]), "t1", 1, "x"), of_task(little, "t1", 1, "x")),
        (of_task(none, "t2", 0, "x"), of_task(none, "t2", 0, "x")),
        (of_task(little, "t3", 0, "y"), of_task(none, "t3", 0, "y")),
    ]
    row = compare(of(*units), "hand", NAMES, "own-stop").row("coverage")
    assert row.difference == pytest.approx(((0.2 + 0.4) / 2 / 2 + 0.2) / 2)
    assert (row.tasks, row.clusters) == (3, 2)


def test_secondaries_are_adjusted_together_and_the_primary_metric_is_not() -> None:
    """A is ahead in ten of ten tasks: p is 2/1024, or 1 without a difference; undefined takes no part."""
    a, b = read(["a", ("b", "d1")]), read(["a"])
    units = [(of_task(a, f"t{i}", 0, f"t{i}"), of_task(b, f"t{i}", 0, f"t{i}")) for i in range(10)]
    metrics = ["depth_weighted_recall", "deepest", "breadth", "out_of_order"]
    coverage, recall, deepest, breadth, order = compare(
        of(*units), "hand", NAMES, "own-stop", secondaries=metrics
    ).rows
    assert [row.p for row in (coverage, recall, deepest, breadth)] == [2 / 1024, 2 / 1024, 2 / 1024, 1.0]
    assert coverage.adjusted is None
    assert [row.adjusted for row in (recall, deepest, breadth)] == pytest.approx([3 / 1024, 3 / 1024, 1.0])
    assert (order.verdict, order.adjusted) == ("no pair is defined on both sides", 1.0)


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
    units = [(of_task(RUN_A, f"t{i}", 0, f"t{i}"), of_task(RUN_A, f"t{i}", 0, f"t{i}")) for i in range(5)]
    found = compare(of(*units), "hand", NAMES, "own-stop")
    for row in found.rows:
        assert (row.difference, row.verdict) == (0.0, "all clusters have the same mean")
    assert all(one.difference == 0.0 and not one.to_dict()["decided"] for one in found.stops)


def test_stops_are_ratios_of_sums() -> None:
    """Pooled A + B: 1/2 and 7/8, see the guide; against C, whose halt is no decision."""
    a = [of_task(RUN_A, "t0", 0, "t0"), of_task(RUN_B, "t1", 0, "t1")]
    b = [of_task(read(C.turns, "budget"), f"t{i}", 0, f"t{i}") for i in range(2)]
    done, open_ = compare(of(*zip(a, b, strict=True)), "hand", NAMES).stops
    assert (done.a, done.b, done.decision) == (0.5, None, None)
    assert done.to_dict()["verdict"] == "an arm never came to such a decision"
    assert (open_.a, open_.b) == (7 / 8, 1.0)
    assert open_.decision is not None


def test_a_clear_difference_in_stopping_is_decided() -> None:
    stops, goes_on = read(["abc", ("d1", "d2")]), read(["abc", ("d1", "d2"), "a", "b", "c"])
    units = [(of_task(stops, f"t{i}", 0, f"t{i}"), of_task(goes_on, f"t{i}", 0, f"t{i}")) for i in range(19)]
    units.append((of_task(goes_on, "t19", 0, "t19"), of_task(goes_on, "t19", 0, "t19")))
    done = compare(of(*units), "hand", NAMES).stops[0]
    assert done.a == pytest.approx(20 / 23)
    assert done.b == pytest.approx(0.25)
    assert done.decision is not None
    assert done.decision.decided


def test_answers_are_compared_exactly_under_one_seed() -> None:
    answers = ["yes"] * 9 + [""] * 2 + ["yes"] * 4
    others = [""] * 9 + ["yes"] * 2 + ["yes"] * 4
    units = [
        (of_task(read((), answer=a), f"t{i}", 0, f"t{i}"), of_task(read((), answer=b), f"t{i}", 0, f"t{i}"))
        for i, (a, b) in enumerate(zip(answers, others, strict=True))
    ]
    row = compare(of(*units), "hand", NAMES, "own-stop", secondaries=["answer_em"]).rows[1]
    assert row.mcnemar == pytest.approx(0.0654, abs=5e-5)
    twice = [*units, (of_task(units[0][0], "t0", 1, "t0"), of_task(units[0][1], "t0", 1, "t0"))]
    assert compare(of(*twice), "hand", NAMES, "own-stop", secondaries=["answer_em"]).rows[1].mcnemar is None


RUNS = st.lists(
    st.lists(st.sampled_from(["a", "b", "c", "d1", "d2", "x"]), max_size=2, unique=True), max_size=6
)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(RUNS, RUNS), min_size=1, max_size=8), st.sampled_from(["equal-spend", "own-stop"]))
def test_sides_changed_change_signs_alone(runs: list[tuple[list[list[str]], ...]], reading: str) -> None:
    units = [
        (of_task(read(a), f"t{i}", 0, f"c{i // 2}"), of_task(read(b), f"t{i}", 0, f"c{i // 2}"))
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
        ({"seed": -1}, "seed is -1; it must be at least 0"),
        ({"cap": 0}, "cap is 0; it must be at least 1"),
    ],
)
def test_what_cannot_be_read_is_refused(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        compare(of((RUN_A, RUN_B)), "hand", NAMES, **wrong)  # type: ignore[arg-type]


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
    assert eight["rows"][0]["decided"] is True
    assert main(["compare", oracle, prompted, "--reading", "own-stop"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("mini_hops: A = oracle, B = prompted; read at own-stop; differences are A - B\n")
    assert "| answer_em |" in told
    assert "| P(stop given done), own end | 1.000 |" in told


def test_the_command_on_one_folder_of_both(
    recorded: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "records").mkdir()
    for folder in recorded:
        (shard,) = (folder / "records").glob("*.jsonl")
        (tmp_path / "records" / f"{folder.name}.jsonl").write_text(shard.read_text())
    (tmp_path / "graphs.jsonl").write_text((recorded[1] / "graphs.jsonl").read_text())
    with pytest.raises(SystemExit):
        main(["compare", str(tmp_path), str(tmp_path)])
    assert "choose one: --policy-a, --policy-b" in capsys.readouterr().err
    chosen = ["--policy-a", "oracle", "--policy-b", "prompted"]
    assert main(["compare", str(tmp_path), str(tmp_path), *chosen, "--json"]) == 0
    together = capsys.readouterr().out
    assert main(["compare", *map(str, recorded), "--json"]) == 0
    assert together == capsys.readouterr().out


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
