import pytest

from rollout.retrieve import Retriever, words

DOCUMENTS = {
    "d1": "paris capital france",
    "d2": "berlin capital germany",
    "d3": "paris hilton hotel paris",
}


def test_worked_example() -> None:
    index = Retriever(DOCUMENTS)
    assert list(index.scores("capital of paris")) == pytest.approx([0.9801, 0.4901, 0.6118], abs=1e-4)
    assert index.retrieve("capital of paris", 3) == ["d1", "d3", "d2"]
    assert list(index.scores("berlin")) == pytest.approx([0.0, 1.0227, 0.0], abs=1e-4)
    assert index.retrieve("berlin", 3) == ["d2"]  # what shares no word is not returned


def test_words_of_a_query_count_as_often_as_they_stand_there() -> None:
    index = Retriever(DOCUMENTS)
    assert index.scores("paris paris")[0] == pytest.approx(2 * index.scores("paris")[0])


def test_of_equals_the_lowest_id() -> None:
    assert Retriever({2: "a b", 0: "a b", 10: "a b"}).retrieve("a", 2) == [0, 2]


def test_words() -> None:
    assert words("Mr. Fix-It (1918), São Paulo") == ["mr", "fix", "it", "1918", "s", "o", "paulo"]


@pytest.mark.parametrize("documents", [{}, {"a": ""}, {"a": "?!"}])
def test_nothing_to_find(documents: dict[str, str]) -> None:
    assert Retriever(documents).retrieve("paris", 3) == []
    assert Retriever(DOCUMENTS).retrieve("", 3) == []
