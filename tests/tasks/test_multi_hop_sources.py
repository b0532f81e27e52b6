import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.errors import InputError
from tasks.multi_hop import MultiHopSet, MultiHopTask, uid_of
from tasks.multi_hop_sources import load, top_k, word_cap
from tasks.splits import split_of
from tasks.suites import SUITES
from tasks.suites.corpus import Corpus
from tests.tasks.suites.made_up import corpus, frames, musique, paragraph, strategyqa, two_wiki, write


def section(use: str, file: Path, **options: Any) -> dict[str, Any]:
    return {"use": use, "file": str(file), "split": "all", **options}


def one(found: MultiHopSet) -> MultiHopTask:
    (task,) = found.tasks
    return task


def evidence(task: MultiHopTask) -> list[list[str]]:
    """Titles and texts of the needs' evidence."""
    by_uid = {paragraph.uid: paragraph for paragraph in task.pool}
    return [
        [f"{by_uid[str(uid)].title}: {by_uid[str(uid)].text}" for uid in need.evidence]
        for need in task.gold.graph.needs
    ]


def test_musique(tmp_path: Path) -> None:
    found = load(section("musique", write(tmp_path, musique(id="2hop__8_7"))), 0)
    task = one(found)
    assert task.question.text == "Where was the author of Dune born?"
    assert [p.uid for p in task.pool] == [uid_of("musique", "2hop__8_7", i, f"text {i}") for i in range(3)]
    assert evidence(task) == [["T2: text 2"], ["T0: text 0"]]
    assert task.gold.answers == ("Tacoma", "Tacoma, Washington")
    assert (task.gold.cluster, task.gold.answer_need) == ("2hop__7_8", "s2")
    assert found.left_out == {}
    assert len(found.hashes["file"]) == 64


def test_paragraphs_that_are_equal_are_one(tmp_path: Path) -> None:
    row = musique()
    row["paragraphs"][2] |= {"title": "T0", "paragraph_text": "text 0"}  # evidence of both steps
    row["paragraphs"][1] |= {"title": "T0"}  # of equal titles alone
    task = one(load(section("musique", write(tmp_path, row)), 0))
    assert [(p.title, p.text) for p in task.pool] == [("T0", "text 0"), ("T0", "text 1")]
    assert [need.evidence for need in task.gold.graph.needs] == [(task.pool[0].uid,)] * 2


def test_two_wiki_with_aliases(tmp_path: Path) -> None:
    aliases = write(
        tmp_path, {"Q_id": "Q5", "aliases": ["Eva", "Eve Lee"], "demonyms": ["E."]}, name="a.json"
    )
    rows = write(tmp_path, two_wiki(), two_wiki(_id="x", answer_id=None, question="Who?"))
    first, second = load(section("2wiki", rows, aliases=str(aliases)), 0).tasks
    assert first.gold.answers == ("Eve Lee", "Eva", "E.")
    assert second.gold.answers == ("Eve Lee",)
    assert evidence(first) == [
        ["Foo (film): Foo is a film. Ann Lee directed it."],
        ["Ann Lee: Ann Lee is a daughter of Eve Lee."],
    ]
    assert first.gold.cluster == "w"
    broken = write(tmp_path, {"Q_id": "Q5"}, name="b.json")
    with pytest.raises(InputError, match=r"b.json, row 1: not a row of aliases \(no 'aliases'\)"):
        load(section("2wiki", rows, aliases=str(broken)), 0)


def test_strategyqa_draws_distractors_by_task_and_seed_alone(tmp_path: Path) -> None:
    rows, paragraphs = write(tmp_path, strategyqa()), str(corpus(tmp_path))
    task = one(load(section("strategyqa", rows, paragraphs=paragraphs), 0))
    assert len(task.pool) == len({p.uid for p in task.pool}) == 20
    assert evidence(task) == [["Llama: Llama 3.", "Llama: Llama 4."], ["Bus: Bus 1."], []]
    assert [p.uid for p in task.pool] == [
        uid_of("strategyqa", "q", i, p.text) for i, p in enumerate(task.pool)
    ]
    assert [p.title for p in task.pool][:3] != ["Llama", "Llama", "Bus"]  # shuffled
    lines = Path(paragraphs).read_text().splitlines(keepends=True)
    (tmp_path / "reversed.jsonl").write_text("".join(lines[::-1]))
    more = write(tmp_path, strategyqa(qid="p"), strategyqa(), name="more.jsonl")
    again = load(section("strategyqa", more, paragraphs=str(tmp_path / "reversed.jsonl")), 0).tasks
    assert again[1] == task  # whatever is read beside it, in whatever order
    assert {p.text for p in again[0].pool} != {p.text for p in task.pool}
    other = one(load(section("strategyqa", rows, paragraphs=paragraphs), 1))
    assert {p.text for p in other.pool} != {p.text for p in task.pool}


def test_strategyqa_rows_without_their_paragraphs_are_left_out(tmp_path: Path) -> None:
    lost = strategyqa(qid="x", evidence=[[[["Bus-7"]], [["Bus-1"]], ["operation"]]])
    paragraphs = write(
        tmp_path, paragraph("Llama", 3), paragraph("Llama", 4), paragraph("Bus", 1), paragraph("Bus", 1),
        name="few.jsonl",
    )  # fmt: skip
    rows = write(tmp_path, strategyqa(), lost)
    found = load(section("strategyqa", rows, paragraphs=str(paragraphs)), 0)
    assert len(one(found).pool) == 3
    assert found.left_out == {
        "a paragraph that is missing": 1,
        "a paragraph whose name an earlier one has": 1,
    }


def test_a_pool_keeps_all_evidence_even_beyond_twenty(tmp_path: Path) -> None:
    names = [f"Other-{i}" for i in range(23)]
    row = strategyqa(decomposition=["a"], evidence=[[[names]]])
    task = one(load(section("strategyqa", write(tmp_path, row), paragraphs=str(corpus(tmp_path))), 0))
    assert len(task.pool) == 23
    assert task.gold.answer_need == "s1"


def test_a_corpus_as_one_object(tmp_path: Path) -> None:
    file = tmp_path / "paragraphs.json"
    file.write_text(json.dumps({"Bus-1": {"title": "Bus", "para_index": 1, "content": "A bus."}}, indent=1))
    assert Corpus.read(file).pieces == {"Bus-1": ("Bus-1", "Bus", "A bus.")}
    for text, fault in (('{"Bus-1": 3}', "row 1: no paragraph but int"), ('{"a": {"title": "a"}}', "row 1")):
        file.write_text(text)
        with pytest.raises(InputError, match=f"paragraphs.json, {fault}"):
            Corpus.read(file)
    with pytest.raises(InputError, match=r"row 1: no paragraph \(a text was expected, not int\)"):
        Corpus.read(write(tmp_path, paragraph("a", 1, contents=3)))


def test_frames_share_the_corpus_that_is_given(tmp_path: Path) -> None:
    rows = write(tmp_path, frames(), frames(id="1"))
    assert all(task.pool == () for task in load(section("frames", rows), 0).tasks)
    first, second = load(section("frames", rows, split="test", paragraphs=str(corpus(tmp_path))), 0).tasks
    assert first.pool is second.pool
    assert len({p.uid for p in first.pool}) == 43
    assert first.gold.graph.needs == ()


def test_kinds_take_turns_in_a_sorted_file(tmp_path: Path) -> None:
    ids = [*(f"2hop__{i}_0" for i in range(6)), *(f"3hop1__{i}_0_0" for i in range(4)), "4hop1__0_0_0_0"]
    rows = write(tmp_path, *(musique(id=name) for name in ids))
    found = [task.question.id for task in load(section("musique", rows), 0).tasks]
    assert found[:4] == ["2hop__0_0", "3hop1__0_0_0", "4hop1__0_0_0_0", "2hop__1_0"]
    assert sorted(found) == sorted(ids)
    for limit in (1, 5, 99):
        some = load(section("musique", rows, limit=limit), 0)
        assert [task.question.id for task in some.tasks] == found[:limit]


@given(st.lists(st.sampled_from("abc"), max_size=12), st.integers(1, 14))
def test_a_limit_is_shared_as_evenly_as_kinds_allow(kinds: list[str], limit: int) -> None:
    from tasks.multi_hop_sources import _in_turn

    of_kind: dict[str, Any] = {kind: [kind] * kinds.count(kind) for kind in kinds}
    turns: list[Any] = list(_in_turn(of_kind))
    taken = Counter(turns[:limit])
    assert taken.total() == min(limit, len(kinds))
    assert all(taken[a] >= min(taken[b] - 1, kinds.count(a)) for a in kinds for b in kinds)


def test_splits_part_the_rows_by_template(tmp_path: Path) -> None:
    rows = write(tmp_path, *(musique(id=f"2hop__{i}_{j}") for i in range(12) for j in range(12)))
    parts = {
        split: load(section("musique", rows, split=split), 0).tasks for split in ("train", "dev", "test")
    }
    assert sum(map(len, parts.values())) == 144
    for split, tasks in parts.items():
        assert {split_of("musique", task.gold.cluster) for task in tasks} == {split}
    clusters = [{task.gold.cluster for task in tasks} for tasks in parts.values()]
    assert sum(map(len, clusters)) == len(set().union(*clusters)) == 78  # 3_5 and 5_3 stay together


def test_rows_of_the_drop_list_are_left_out(tmp_path: Path) -> None:
    rows = write(tmp_path, musique(), musique(id="2hop__1_2", question_decomposition=[
        {"id": 1, "question": "Emma >> author", "answer": "Austen", "paragraph_support_idx": 0},
    ]))  # fmt: skip
    file = tmp_path / "list.json"
    file.write_text(json.dumps({"a": [{"id": "z", "question": "Frank Herbert >> place of  Birth?"}]}))
    found = load(section("musique", rows, drop_list=str(file)), 0)
    assert one(found).question.id == "2hop__1_2"
    assert found.left_out == {"a step of the drop list": 1}
    assert set(found.hashes) == {"file", "drop_list"}


@pytest.mark.parametrize("form", ["parquet", "json"])
def test_a_folder_as_the_hub_would_give_it(form: str, tmp_path: Path) -> None:
    """2Wiki's parquet copy holds lists as JSON text; nested lists of one type are kept as they are."""
    datasets = pytest.importorskip("datasets")
    (tmp_path / "folder").mkdir()
    original = [two_wiki(), two_wiki(_id="x", answer_id=None), two_wiki(_id="y", evidences=[])]
    text = ("context", "supporting_facts", "evidences")
    rows = [{**row, **{key: json.dumps(row[key]) for key in text}} for row in original]
    place = tmp_path / "folder" / f"validation.{form}"
    datasets.Dataset.from_list(rows).to_parquet(place) if form == "parquet" else write(
        tmp_path / "folder", *rows, name=place.name
    )
    hub = {"use": "2wiki", "hub": str(tmp_path / "folder"), "hub_split": "validation", "split": "all"}
    found = load(hub, 0)
    assert found.tasks == load(section("2wiki", write(tmp_path, *original)), 0).tasks
    assert found.left_out == {"no evidence triples": 1}
    assert len(found.hashes["hub"]) == 64
    with pytest.raises(InputError, match=r"test: cannot be loaded from the hub"):
        load({**hub, "hub_split": "test"}, 0)


def test_nested_rows_from_a_folder(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    (tmp_path / "m").mkdir()
    (tmp_path / "s").mkdir()
    datasets.Dataset.from_list([musique(), musique(id="2hop__1_2")]).to_parquet(
        tmp_path / "m/validation.parquet"
    )
    row = strategyqa()
    lists = [[[i if isinstance(i, list) else [i] for i in step] for step in one] for one in row["evidence"]]
    datasets.Dataset.from_list([strategyqa(evidence=lists)]).to_parquet(tmp_path / "s/train.parquet")
    hub = {"use": "musique", "hub": str(tmp_path / "m"), "hub_split": "validation", "split": "all"}
    rows = write(tmp_path, musique(), musique(id="2hop__1_2"))
    assert load(hub, 0).tasks == load(section("musique", rows), 0).tasks
    options = {"paragraphs": str(corpus(tmp_path))}
    hub = {"use": "strategyqa", "hub": str(tmp_path / "s"), "hub_split": "train", "split": "all", **options}
    assert load(hub, 0).tasks == load(section("strategyqa", write(tmp_path, row), **options), 0).tasks


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"use": "musiqe"}, "use is 'musiqe', not a task .* did you mean 'musique'"),
        ({"use": "mini"}, "use is 'mini', a task of tool calls; multi-hop ones: musique"),
        ({"use": ["musique"]}, "not a task"),
        ({"split": "trian"}, "did you mean 'train'"),
        ({"split": None}, "key 'split' is null"),
        ({"limit": 0}, "limit is 0"),
        ({"hub": "a/b"}, "give file or hub, one of them"),
        ({"file": None}, "give file or hub, one of them"),
        ({"file": None, "hub": "a/b"}, "hub needs hub_split"),
        ({"revision": "main"}, "belong to hub"),
        ({"paragraphs": "x"}, "key 'paragraphs' belongs to strategyqa and frames, not to musique"),
        ({"aliases": "x"}, "key 'aliases' belongs to 2wiki, not to musique"),
        ({"use": "2wiki", "drop_list": "x"}, "key 'drop_list' belongs to musique"),
        ({"use": "strategyqa"}, "missing key 'paragraphs'"),
        ({"use": "frames", "split": "train"}, "train of frames: it is for evaluation only"),
        ({"drop_list": "none.json"}, "none.json: cannot be read"),
        ({"file": "none.jsonl"}, "none.jsonl: cannot be read"),
    ],
)
def test_sections_that_are_wrong(options: dict[str, Any], fault: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=fault) as caught:
        load({**section("musique", write(tmp_path, musique())), **options}, 0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            {"paragraphs": [{"idx": 0, "title": "a", "paragraph_text": "b"}] * 2},
            "two paragraphs are called 0",
        ),
        ({"paragraphs": [{"idx": 0, "title": None, "paragraph_text": "b"}]}, "a text was expected"),
        ({"paragraphs": [{"idx": 0, "title": "a"}]}, "no 'paragraph_text'"),
        ({"paragraphs": 3}, "a list was expected"),
    ],
)
def test_pools_that_are_broken(change: dict[str, Any], fault: str, tmp_path: Path) -> None:
    steps = [{"id": 7, "question": "q", "answer": "a", "paragraph_support_idx": 0}]
    rows = write(tmp_path, musique(id="x"), musique(question_decomposition=steps, **change))
    with pytest.raises(InputError, match=rf"rows.jsonl, row 2: not a row of MuSiQue \({fault}"):
        load(section("musique", rows), 0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, by the steps that lead there."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


@pytest.mark.parametrize(
    ("suite", "row"),
    [("musique", musique()), ("strategyqa", strategyqa()), ("2wiki", two_wiki()), ("frames", frames())],
)
def test_a_row_with_anything_anywhere_is_a_task_or_left_out_or_named(
    suite: str, row: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    options = {"paragraphs": str(corpus(folder))} if suite == "strategyqa" else {}

    @given(st.sampled_from(places(row)[1:]), JSON)
    def check(place: tuple[Any, ...], value: Any) -> None:
        changed = json.loads(json.dumps(row))
        inside = changed
        for step in place[:-1]:
            inside = inside[step]
        inside[place[-1]] = value
        try:
            task = one(load(section(suite, write(folder, changed), **options), 0))
        except InputError:
            return
        uids = {paragraph.uid for paragraph in task.pool}
        assert {uid for need in task.gold.graph.needs for uid in need.evidence} <= uids

    check()


def test_where_no_task_is_left(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"musique: no task is left \(1 rows: unanswerable\)"):
        load(section("musique", write(tmp_path, musique(answerable=False))), 0)


def test_a_module_of_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_hops.py").write_text(
        "from dataclasses import dataclass\n"
        "from tasks.multi_hop import MultiHopSet\n"
        "@dataclass(frozen=True)\nclass Config:\n    good: bool = True\n"
        "def load(config, seed):\n    return MultiHopSet((), {'seed': seed}, {}) if config.good else []\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"my_hops: no task is left \(3 rows: seed\)"):
        load({"use": "my_hops"}, 3)
    with pytest.raises(InputError, match="load gave list, not a MultiHopSet"):
        load({"use": "my_hops", "good": False}, 3)
    with pytest.raises(InputError, match="unknown key 'goood'; did you mean 'good'"):
        load({"use": "my_hops", "goood": False}, 3)
    del sys.modules["my_hops"]


def test_made_up_worlds() -> None:
    assert (top_k("mini_hops"), word_cap("mini_hops")) == (2, 8)
    task = load({"use": "mini_hops", "split": "test"}, 0).tasks[0]
    assert task.question.suite == "mini_hops"
    assert task == load({"use": "mini_hops", "split": "test"}, 0).tasks[0]


def test_what_a_question_fetches_and_how_long_an_answer_is() -> None:
    assert {suite: (top_k(suite), word_cap(suite)) for suite in (*SUITES, "my_suite")} == {
        "musique": (5, 30), "strategyqa": (2, 10), "2wiki": (3, 30), "frames": (5, 60), "my_suite": (5, 30),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("use", "file", "kept"),
    [
        ("musique", "musique/ans_dev.jsonl", 133),
        ("musique", "musique/full_train20.jsonl", 11),
        ("2wiki", "2wiki/dev.jsonl", 99),
        ("2wiki", "2wiki/train500.jsonl", 500),
        ("strategyqa", "strategyqa/dev.jsonl", 149),
        ("frames", "frames/frames.jsonl", 824),
    ],
)
def test_real_rows(use: str, file: str, kept: int, real_rows: Path) -> None:
    data = real_rows.parent
    options = {"paragraphs": str(data / "strategyqa/paragraphs.jsonl")} if use == "strategyqa" else {}
    found = load(section(use, data / file, **options), 0)
    assert len(found.tasks) == kept
    for task in found.tasks:
        uids = {paragraph.uid for paragraph in task.pool}
        assert len(uids) == len(task.pool)
        assert {uid for need in task.gold.graph.needs for uid in need.evidence} <= uids
        assert task.gold.answer_need in {None, *(need.id for need in task.gold.graph.required)}
    if use in ("musique", "strategyqa"):
        assert {len(task.pool) for task in found.tasks} == {20}
