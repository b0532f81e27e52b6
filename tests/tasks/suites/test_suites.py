import json
from pathlib import Path
from typing import Any

import pytest

from tasks.errors import InputError
from tasks.suites import SUITES
from tasks.suites.musique import folded, single_hops, template
from tasks.suites.strategyqa import evidence
from tasks.suites.two_wiki import key, paragraph_of
from tests.tasks.suites.made_up import corpus, frames, musique, strategyqa, two_wiki, write
from train.graphs import run


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


@pytest.mark.parametrize(
    ("suite", "row"),
    [
        ("musique", musique(question=None)),
        ("musique", musique(id=None)),
        ("2wiki", two_wiki(_id=["w"])),
        ("musique", musique(question_decomposition="[")),
        ("musique", musique(answer_aliases=[3])),
        ("strategyqa", strategyqa(decomposition=[1])),
        ("strategyqa", strategyqa(evidence=[[[[5]]]])),
        ("2wiki", two_wiki(context=[["a", [], "b"]])),
        ("2wiki", two_wiki(answer=None)),
        ("2wiki", two_wiki(evidences=[["a", "b"]])),
        ("frames", frames(Answer=3)),
    ],
)
def test_a_broken_row_is_named(suite: str, row: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"rows.jsonl, row 1: not a row of "):
        SUITES[suite].load(write(tmp_path, row))


def test_files_that_are_one_json_list(tmp_path: Path) -> None:
    file = tmp_path / "dev.json"
    file.write_text(json.dumps([two_wiki(), two_wiki(_id="v")], indent=1), encoding="utf-8")
    assert [task.id for task in SUITES["2wiki"].load(file)[0]] == ["w", "v"]
    file.write_text("[1]", encoding="utf-8")
    with pytest.raises(InputError, match=r"dev.json, row 1: expected a JSON object"):
        SUITES["2wiki"].load(file)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"[]", "the list is empty"),
        (b"[{", "not valid JSON"),
        (b'["\xff"]', "not UTF-8"),
        (b'[{"a": "\\ud800"}]', "surrogate"),
        (b"\xef\xbb\xbf[1]", "row 1: expected"),
        (b"", "no rows"),
    ],
)
def test_files_that_are_broken(content: bytes, fault: str, tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_bytes(content)
    with pytest.raises(InputError, match=fault):
        SUITES["2wiki"].load(tmp_path / "dev.json")
    with pytest.raises(InputError, match="no such file"):
        SUITES["2wiki"].load(tmp_path / "none.json")


def test_copies_whose_items_must_be_of_one_type(tmp_path: Path) -> None:
    """Of a hub: lists as JSON text, lists of records as columns, words in lists of their own."""
    row = musique()
    columns = {name: [step[name] for step in row["question_decomposition"]] for name in
               ("id", "question", "answer", "paragraph_support_idx")}  # fmt: skip
    one, other = SUITES["musique"].load(
        write(
            tmp_path,
            row,
            musique(id="x", question_decomposition=columns, paragraphs=json.dumps(row["paragraphs"])),
        )
    )[0]
    assert one.graph == other.graph
    row = strategyqa()
    lists = [
        [[item if isinstance(item, list) else [item] for item in step] for step in one]
        for one in row["evidence"]
    ]
    one, other, third = SUITES["strategyqa"].load(
        write(tmp_path, row, strategyqa(qid="x", evidence=lists),
              strategyqa(qid="y", evidence=json.dumps(row["evidence"])))
    )[0]  # fmt: skip
    assert one.graph == other.graph == third.graph
    row = two_wiki()
    context = {
        "title": [title for title, _ in row["context"]],
        "sentences": [lines for _, lines in row["context"]],
    }
    one, other = SUITES["2wiki"].load(write(tmp_path, row, {**two_wiki(context=context), "_id": "x"}))[0]
    assert one.graph == other.graph


def test_templates_bind_paraphrases_whose_hops_are_in_another_order() -> None:
    assert template("2hop__8_7") == template("2hop__7_8") == "2hop__7_8"
    assert template("3hop1__1_2_3") != template("3hop2__1_2_3")
    assert template("strange") == "strange"


def test_the_need_that_has_the_answer() -> None:
    assert SUITES["musique"].parse(musique()).answer_need == "s2"
    assert SUITES["2wiki"].parse(two_wiki()).answer_need == "e2"
    assert SUITES["2wiki"].parse(two_wiki(answer="eve LEE")).answer_need == "e2"
    assert SUITES["2wiki"].parse(two_wiki(answer="yes")).answer_need is None
    lost = [["Foo", "director", "Ann Lee"], ["Nobody else", "mother", "Ann Lee"]]
    assert SUITES["2wiki"].parse(two_wiki(evidences=lost, answer="Ann Lee")).answer_need == "e1"
    assert SUITES["strategyqa"].parse(strategyqa()).answer_need is None
    short = strategyqa(decomposition=["a", "b"], evidence=[[["operation"], [["Bus-1"]]]])
    assert SUITES["strategyqa"].parse(short).answer_need == "s2"


def test_single_hop_questions_have_answers_in_place_of_references() -> None:
    assert single_hops(SUITES["musique"].parse(musique())) == {
        "dune >> author",
        "frank herbert >> place of birth",
    }
    assert folded("  Who  wrote DUNE ? ") == folded("who wrote dune")


def test_frames_has_answers_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub = {"Unnamed: 0": 7, "Prompt": "Who?", "Answer": "Eve"}
    rows = write(tmp_path, frames(), hub, frames(id="1", Answer=" "))
    (one, other), skipped = SUITES["frames"].load(rows)
    assert (one.id, one.answers, one.kind, one.graph.needs) == ("0", ("Ann",), "Tabular", ())
    assert (other.id, other.question) == ("7", "Who?")
    assert skipped == {"no question or no answer": 1}
    with pytest.raises(InputError, match="frames has answers alone"):
        run("frames", rows)
    assert capsys.readouterr().out == ""


def test_the_command_leaves_out_what_lacks_a_paragraph(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write(
        tmp_path, strategyqa(), strategyqa(qid="x", evidence=[[[["Bus-7"]], [["Bus-1"]], ["operation"]]])
    )
    run("strategyqa", rows)
    assert len(capsys.readouterr().out.splitlines()) == 2
    run("strategyqa", rows, corpus(tmp_path))
    told = capsys.readouterr()
    assert [json.loads(line)["task"] for line in told.out.splitlines()] == ["q"]
    assert told.err == "left out: 1 rows (a paragraph that is missing)\n"
