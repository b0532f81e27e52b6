import json
from pathlib import Path
from typing import Any

import pytest

from tasks.errors import InputError
from tasks.suites import SUITES
from tasks.suites.strategyqa import evidence
from tasks.suites.two_wiki import key, paragraph_of


def write(folder: Path, *rows: Any) -> Path:
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def musique(**change: Any) -> dict[str, Any]:
    row = {
        "id": "2hop__7_8", "question": "Where was the author of Dune born?", "answer": "Tacoma",
        "answer_aliases": ["Tacoma, Washington"], "answerable": True,
        "paragraphs": [{"idx": i, "title": f"T{i}", "paragraph_text": "x"} for i in range(3)],
        "question_decomposition": [
            {"id": 7, "question": "Dune >> author", "answer": "Frank Herbert", "paragraph_support_idx": 2},
            {"id": 8, "question": "#1 >> place of birth", "answer": "Tacoma", "paragraph_support_idx": 0},
        ],
    }  # fmt: skip
    return {**row, **change}


def strategyqa(**change: Any) -> dict[str, Any]:
    row = {
        "qid": "q", "question": "Could a llama fit in a bus?", "answer": True,
        "decomposition": ["How big is a llama?", "How big is a bus?", "Is #1 below #2?"],
        "evidence": [
            [["no_evidence", ["Llama-3", "Llama-4"]], ["no_evidence"], ["operation"]],
            [[["Llama-9"]], [["Bus-1"]], ["operation"]],
        ],
    }  # fmt: skip
    return {**row, **change}


def two_wiki(**change: Any) -> dict[str, Any]:
    row = {
        "_id": "w", "type": "compositional", "question": "Who is the mother of the director of Foo?",
        "context": [["Bar", []], ["Foo (film)", []], ["Ann Lee", []]],
        "supporting_facts": [["Foo (film)", 0], ["Ann Lee", 0]],
        "evidences": [["Foo", "director", "Ann Lee"], ["Ann Lee", "mother", "Eve Lee"]], "answer": "Eve Lee",
    }  # fmt: skip
    return {**row, **change}


def test_musique(tmp_path: Path) -> None:
    ((task,), skipped) = SUITES["musique"].load(write(tmp_path, musique()))
    assert not skipped
    assert (task.id, task.kind, task.answers) == ("2hop__7_8", "2hop", ("Tacoma", "Tacoma, Washington"))
    assert [(need.id, need.evidence, need.answers) for need in task.graph.needs] == [
        ("s1", (2,), ("Frank Herbert",)),
        ("s2", (0,), ("Tacoma",)),
    ]
    assert task.graph.edges == (("s1", "s2"),)


def test_strategyqa_takes_the_first_alternative_of_any_annotator(tmp_path: Path) -> None:
    ((task,), _) = SUITES["strategyqa"].load(write(tmp_path, strategyqa()))
    assert [need.evidence for need in task.graph.needs] == [("Llama-3", "Llama-4"), ("Bus-1",), ()]
    assert task.graph.edges == (("s1", "s3"), ("s2", "s3"))
    assert task.answers == ("yes", "true")
    assert evidence([[], [[["A-1"]]]], 0) == ("A-1",)


def test_two_wiki_chains_triples_by_name_except_in_comparisons(tmp_path: Path) -> None:
    rows = write(tmp_path, two_wiki(), two_wiki(_id="v", type="comparison"))
    first, second = SUITES["2wiki"].load(rows)[0]
    assert [(need.id, need.evidence) for need in first.graph.needs] == [("e1", (1,)), ("e2", (2,))]
    assert first.graph.edges == (("e1", "e2"),)
    assert second.graph.edges == ()


def test_the_hubs_copy_holds_lists_as_text(tmp_path: Path) -> None:
    row = two_wiki()
    text = {name: json.dumps(row[name]) for name in ("context", "supporting_facts", "evidences")}
    one, other = SUITES["2wiki"].load(write(tmp_path, row, {**row, **text, "_id": "v"}))[0]
    assert one.graph == other.graph


@pytest.mark.parametrize(
    ("subject", "titles", "supporting", "found"),
    [
        ("Foo", ["Foo Fighters", "foo (band)"], set(), 1),  # equal before substring
        ("Foo", ["Foo Fighters", "The Foo"], {"The Foo"}, 1),  # the supporting facts before the position
        ("Foo", ["Foo Fighters", "The Foo"], set(), 0),
        ("Mr. Fix-It", ["Mr Fix It"], set(), 0),
        ("Foo Fighters Live", ["Foo Fighters"], set(), 0),  # substring either way
        ("Foo", ["Bar"], {"Bar"}, None),
        ("\u5b6b\u6587", ["\u674e", "\u5b6b\u6587"], set(), 1),  # no Latin letter: not an empty key
        ("\u5b6b\u6587", ["\u674e", "Bar"], set(), None),
    ],
)
def test_paragraph_of(subject: str, titles: list[str], supporting: set[str], found: int | None) -> None:
    assert paragraph_of(subject, titles, supporting) == found


def test_keys() -> None:
    assert key("The Mask (1994 film)") == "the mask"
    assert key("\u0410\u0431\u0432") == "\u0430\u0431\u0432"


@pytest.mark.parametrize(
    ("suite", "row", "reason"),
    [
        ("musique", musique(answerable=False), "unanswerable"),
        ("musique", musique(question_decomposition=[]), "no decomposition"),
        ("strategyqa", strategyqa(decomposition=["see #2", "see #1", "x"]), "circle"),
        ("2wiki", two_wiki(evidences=[]), "no evidence triples"),
    ],
)
def test_rows_of_no_use_are_counted_by_reason(
    suite: str, row: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    tasks, skipped = SUITES[suite].load(write(tmp_path, row))
    assert not tasks
    assert [(reason in name, count) for name, count in skipped.items()] == [(True, 1)]


def test_supports_that_point_nowhere_and_ids_of_earlier_rows(tmp_path: Path) -> None:
    lost = musique(id="x")
    lost["question_decomposition"][0]["paragraph_support_idx"] = 99
    tasks, skipped = SUITES["musique"].load(write(tmp_path, musique(), lost, musique()))
    assert len(tasks) == 1
    assert skipped == {"a support that points nowhere": 1, "an id that an earlier row has": 1}


@pytest.mark.parametrize("suite", SUITES)
def test_a_row_of_another_kind_is_named(suite: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rows.jsonl, row 1: not a row of .* \(no '"):
        SUITES[suite].load(write(tmp_path, {"id": 1}))


def test_totals_of_the_real_rows(real_rows: Path) -> None:
    """The train split of StrategyQA, whole: its steps, references and operations."""
    from train.graphs import totals

    found = totals(*SUITES["strategyqa"].load(real_rows.parent / "strategyqa" / "train.jsonl"))
    assert found == {
        "tasks": 2061, "needs": 6046, "edges": 4032, "optional": 1123,
        "depths": {"0": 3350, "1": 2087, "2": 550, "3": 55, "4": 4}, "left_out": {},
    }  # fmt: skip
