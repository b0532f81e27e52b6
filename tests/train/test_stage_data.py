"""Which rows a stage takes, how they weigh, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import InputError
from tasks.strict import build
from tests.train.stage_rows import LORA, export, imitation_row, pair_row
from train import imitate, prefer
from train.stage_data import find, imitation, pairs, select, shared

KINDS = ["ask_ask", "ask_stop", "stop_done", "not_done"]
MARKS = [
    ("ask_ask", "outcome"), ("ask_ask", "gain"), ("ask_stop", "stop_done"), ("ask_stop", "not_done"),
    ("ask_stop", "outcome"), ("stop_done", "stop_done"), ("not_done", "not_done"),
]  # fmt: skip


def config(**fields: Any) -> prefer.Config:
    return build(prefer.Config, {"model": "a/b", "output_dir": "out", **fields}, "test")


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({}, [0, 1]),
        ({"kinds": KINDS}, [0, 1, 2, 3, 4, 5, 6]),
        ({"kinds": KINDS, "exclude_reasons": ["stop_done"]}, [0, 1, 3, 4, 6]),
        ({"kinds": KINDS, "stop_done_share": 0.5}, [0, 1, 2, 3, 4, 5, 6]),
        ({"kinds": ["ask_ask"], "exclude_reasons": ["gain", "quickest"]}, [0]),
    ],
)
def test_what_is_taken(fields: dict[str, Any], kept: list[int]) -> None:
    assert select(MARKS, config(**fields)) == kept


def test_an_empty_selection_is_told_with_the_counts() -> None:
    with pytest.raises(InputError) as caught:
        select(MARKS[2:4] * 2, config())
    assert str(caught.value) == (
        "no pair is of kinds ask_ask; it holds 2 ask_stop (not_done), 2 ask_stop (stop_done)"
    )
    nothing = config(kinds=["stop_done"], exclude_reasons=["stop_done"])
    with pytest.raises(InputError, match="of kinds stop_done less exclude_reasons stop_done; it holds 1"):
        select([("stop_done", "stop_done")], nothing)


def test_a_share_by_hand() -> None:
    """One stop against three asks at .5: 2 and 2/3 each; a pair of asks keeps its weight."""
    marks = [MARKS[5], MARKS[6], MARKS[3], MARKS[4], MARKS[0]]
    assert shared(marks, [1.0] * 5, 0.5) == pytest.approx([2.0, 2 / 3, 2 / 3, 2 / 3, 1.0])
    assert shared(marks, [3.0, 1.0, 1.0, 1.0, 7.0], 0.25) == pytest.approx([1.5, 1.5, 1.5, 1.5, 7.0])
    assert shared(marks, [1.0] * 5, None) == [1.0] * 5


@given(
    st.lists(st.tuples(st.sampled_from(MARKS), st.floats(0.01, 100.0)), max_size=30),
    st.floats(0.01, 0.99),
)
def test_the_share_holds_and_the_weight_of_all_stays(
    rows: list[tuple[tuple[str, str], float]], share: float
) -> None:
    marks = [MARKS[5], MARKS[6], *(mark for mark, _ in rows)]
    weights = [1.0, 1.0, *(weight for _, weight in rows)]
    found = shared(marks, weights, share)
    done = sum(w for (_, reason), w in zip(marks, found, strict=True) if reason == "stop_done")
    contrasts = sum(w for (kind, _), w in zip(marks, found, strict=True) if kind != "ask_ask")
    assert done / contrasts == pytest.approx(share)
    assert sum(found) == pytest.approx(sum(weights))
    assert min(found) > 0


@pytest.mark.parametrize(
    ("marks", "side"), [(MARKS[5:6], "only such that STOP won"), (MARKS[6:], "none that")]
)
def test_a_share_of_one_side_alone(marks: list[tuple[str, str]], side: str) -> None:
    with pytest.raises(InputError, match=f"stop_done_share 0.5 needs.*{side}.*it holds 1 "):
        shared(marks, [1.0], 0.5)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"kinds": []}, "kinds is empty"),
        ({"kinds": ["ask_asks"]}, "did you mean 'ask_ask'"),
        ({"stop_done_share": 1.0}, "stop_done_share is 1; it is between 0 and 1"),
        ({"stop_done_share": 0.5, "exclude_reasons": ["stop_done"]}, "that stop_done_share wants"),
        ({"max_length": 1}, "max_length is 1; it is at least 2 tokens"),
        ({"trainer": {"max_length": 8}}, "trainer.max_length is not for a recipe: it stands at the top"),
        ({"trainer": {"loss_type": ["ipo"]}}, "trainer.loss_type is not for a recipe"),
        ({"trainer": {"precompute_ref_log_probs": True}}, "the reference is a frozen copy"),
        ({"trainer": {"beta": 0}}, "trainer.beta is 0"),
        ({"trainer": {"num_generations": 8}}, "unknown key 'num_generations'"),
        ({"lora": {"r": 8, "alpha": 8}}, "unknown key 'lora'"),
    ],
)
def test_recipes_of_pairs_that_cannot_be(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        config(**fields)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({}, "give either lora, for a new adapter, or adapter"),
        ({"lora": LORA, "adapter": "a"}, "give either lora, for a new adapter, or adapter"),
        ({"lora": LORA, "trainer": {"packing": True}}, "trainer.packing is not for a recipe"),
        ({"lora": LORA, "trainer": {"beta": 0.1}}, "unknown key 'beta'"),
    ],
)
def test_recipes_of_imitation_that_cannot_be(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        build(imitate.Config, {"model": "a/b", "output_dir": "out", **fields}, "test")


def test_files_of_an_export_are_found(tmp_path: Path) -> None:
    folder = export(tmp_path, imitation=[imitation_row(0)], pairs=[pair_row(0)])
    assert find(folder, "pairs") == folder / "pairs.jsonl"
    (folder / "pairs.parquet").touch()
    assert find(folder, "pairs") == folder / "pairs.parquet"
    assert find(folder / "pairs.jsonl", "pairs") == folder / "pairs.jsonl"
    with pytest.raises(InputError, match=r"holds no pairs.parquet or pairs.jsonl; run `askrl export`"):
        find(tmp_path.parent, "pairs")
    with pytest.raises(InputError, match="data is not given; set data=FOLDER"):
        find(None, "pairs")


def read(folder: Path, row: dict[str, Any], kind: str = "imitation") -> Any:
    """What becomes of a file whose second row is this."""
    rows = [imitation_row(0) if kind == "imitation" else pair_row(0), row]
    where = export(folder, **{kind: rows})
    fields = {"model": "a/b", "output_dir": "out", "data": str(where)}
    if kind == "pairs":
        return pairs(build(prefer.Config, fields, "test"))
    return imitation(build(imitate.Config, fields | {"lora": LORA}, "test"))


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (imitation_row(1, weight=0.0), "row 2: weight is 0.0; it is a number above 0"),
        (imitation_row(1, weight="1"), 'row 2: weight is "1", no number'),
        (imitation_row(1, weight=True), "row 2: weight is true, no number"),
        (imitation_row(1, prompt=[]), "row 2: prompt is no list of messages"),
        (imitation_row(1, completion=None), "row 2: completion is no list of messages"),
        (imitation_row(1, prompt="hello"), "rows of different shapes"),
        (imitation_row(1, chat_template_kwargs=None), "row 2: chat_template_kwargs is None"),
    ],
)
def test_rows_that_are_none(row: dict[str, Any], fault: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, row)
    assert str(tmp_path / "imitation.jsonl") in str(caught.value)
    assert fault in str(caught.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    for name, content, fault in (
        ("a.jsonl", "", "no rows; export records"),
        ("b.jsonl", "{\n", "row 1: not valid JSON"),
        ("c.parquet", "text", "not a Parquet file"),
        ("d.jsonl", json.dumps(pair_row(0)) + "\n", "no column completion; columns: prompt, chosen"),
    ):
        file = tmp_path / name
        file.write_text(content)
        fields = {"model": "a/b", "output_dir": "out", "data": str(file), "lora": LORA}
        with pytest.raises(InputError) as caught:
            imitation(build(imitate.Config, fields, "test"))
        assert str(file) in str(caught.value)
        assert fault in str(caught.value)


@pytest.mark.parametrize("name", ["imitation", "pairs"])
def test_both_files_of_an_export_are_read_alike(name: str, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from train.export_rows import Rows

    written = Rows(name)
    add = written.of_state("Who built Oslo's harbour?", ("own", "t1", "s1", "p", 0, 2))
    add(("ASK: Which firm?", "STOP")[: len(written.turns)], "a" * 32, "ask_ask", "outcome", 0.75)
    (tmp_path / f"{name}.jsonl").write_text("".join(written.lines))
    pq.write_table(pa.Table.from_batches([written.batch()]), tmp_path / f"{name}.parquet")
    found = []
    for kind in ("jsonl", "parquet"):
        fields = {"model": "a/b", "output_dir": "out", "data": str(tmp_path / f"{name}.{kind}")}
        if name == "pairs":
            found.append(pairs(build(prefer.Config, fields, "test")).data[0])
        else:
            found.append(imitation(build(imitate.Config, fields | {"lora": LORA}, "test")).data[0])
    assert found[0] == found[1]
    assert found[0]["weight"] == 0.75
    assert found[0]["chat_template_kwargs"] == {"enable_thinking": False}
    assert found[0]["prompt"] == [{"role": "user", "content": "Who built Oslo's harbour?"}]


def test_rows_as_a_trainer_reads_them(tmp_path: Path) -> None:
    found = read(tmp_path, imitation_row(2, weight=2))
    assert found.data.column_names == ["prompt", "completion", "weight", "chat_template_kwargs"]
    assert found.data["weight"][:] == [1.0, 2.0]
    assert found.counts == {"ask": 1, "stop": 1}
    assert list(found.hashes) == ["imitation.jsonl"]
    taken = read(tmp_path / "pairs", pair_row(1, "stop_done", "stop_done"), "pairs")
    assert taken.counts == {"ask_ask (outcome)": 1}
    assert len(taken.data) == 1
