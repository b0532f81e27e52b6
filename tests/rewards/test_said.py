import pytest

from rewards.said import dates, is_moment, numbers, times, years


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,000", {1000.0}),
        ("2,3,4", {2.0, 3.0, 4.0}),
        ("3.8", {3.8}),
        ("4.5 million", {4.5, 4_500_000.0}),
        ("50%", {50.0, 0.5}),
        ("one hundred", {1.0, 100.0}),
        ("two thousand and twelve", {2.0, 12.0, 2012.0}),
        ("two, three", {2.0, 3.0}),
        ("b52", set()),
        ("93rd", {93.0}),
        ("", set()),
    ],
)
def test_numbers(text, expected):
    assert numbers(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("feb 13", {(2, 13)}),
        ("the 1st of march and back on the 6th", {(3, 1), (3, 6)}),
        ("03/05", {(3, 5), (5, 3)}),
        ("2023-04-31", {(4, 31)}),
        ("13/13/2020", set()),
        ("marching 4 miles", set()),
    ],
)
def test_dates(text, expected):
    assert dates(text) == expected


def test_years():
    assert years("in 2012, id 20125, 1999") == {2012, 1999}


@pytest.mark.parametrize(
    ("text", "spoken", "expected"),
    [
        ("3 pm", True, {(15, 0)}),
        ("12 am", True, {(0, 0)}),
        ("3:30", True, {(3, 30), (15, 30)}),
        ("3:30", False, {(3, 30)}),
        ("15:30:10", False, {(15, 30)}),
        ("room 3", True, set()),
        ("midnight", True, {(0, 0)}),
    ],
)
def test_times(text, spoken, expected):
    assert times(text, spoken=spoken) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-02-13", True),
        ("2024-02-13t10:00:00z", True),
        ("march 3rd, 2024", True),
        ("10 am", True),
        ("march", False),
        ("2024", False),
        ("meet me at 10 am", False),
    ],
)
def test_what_is_a_moment(text, expected):
    assert is_moment(text) is expected
