import time

import pytest

from rewards.loose_text import LooseText


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("weather for 13th of Feb 2024", "2024-02-13"),
        ("on March 3rd", "2024-03-03"),  # the year may go unsaid
        ("from August 15th to the 17th", "2023-08-17"),
        ("on 2023.10.1", "2023-10-01"),
        ("on 10/11/2023", "2023-10-11"),
        ("on 10/11/2023", "2023-11-10"),  # both orders
        ("October 11th around 9 am", "2023-10-11T09:00:00"),
        ("October 11th", "2023-10-11 00:00:00"),
        ("depart around 2 PM", "14:00"),
        ("at 3:30", "15:30"),
        ("at noon", "12:00"),
        ("at 07:30", "7:30 am"),
        ("1,000 items", "1000"),
        ("a movie in San Bruno", "San Bruno, CA"),
        ("a flight from NYC", "New York City"),
        ("a flight from New York City", "NYC"),
        ("the living room", "living_room"),
        ("the living room", "LivingRoom"),
        ("our wi-fi", "WiFi"),
        ("our wifi", "Wi-Fi"),
        ("a 3D movie", "3d"),
        ("in san josé", "San Jose"),
        ("musical events", "Music"),
        ("a comfortable ride", "comfort"),
        ("two apartments", "apartment"),
        ("order for ２ people", "２"),
        ("Straße", "STRASSE"),
        ("请查北京的天气", "北京"),
    ],
)
def test_a_person_would_say_it_was_said(said, value):
    assert LooseText.read(said).supports(value)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("weather for 13th of Feb 2024", "2024-02-14"),
        ("weather for 13th of Feb 2024", "2025-02-13"),  # another year than the one said
        ("tomorrow", "2024-02-13"),
        ("5 tickets for March", "2024-05-03"),
        ("at 3 pm", "16:00"),
        ("October 11th around 9 am", "2023-10-11T10:00:00"),
        ("a stylist in CA", "Fremont, CA"),
        ("500", "5000"),
        ("the bedroom", "room"),
        ("上海", "上市"),
        ("x", "!!"),
        ("x", ""),
    ],
)
def test_a_person_would_say_it_was_not(said, value):
    assert not LooseText.read(said).supports(value)


def test_numbers_are_found_in_every_format():
    text = LooseText.read("2 of 1,250.50 at 10 %, 5km, 3k or twenty-five, minus 4, two hundred and five")
    for number in (2.0, 1250.5, 10.0, 0.1, 5.0, 3000.0, 25.0, 205.0, -4.0):
        assert text.has_number(number), number
    for number in (1.0, 250.0, 50.0, 6.0, 100.0):
        assert not text.has_number(number), number


@pytest.mark.parametrize(
    "piece", ["a", "A ", "1", "1,", "1.", " ", "of the ", "AB ", "12:", "日", "-", "jan 1 "]
)
def test_reading_is_linear(piece):
    """Ten times the text may cost about ten times the time, never a hundred."""

    def seconds(count):
        text = piece * count
        best = float("inf")
        for _ in range(3):
            start = time.perf_counter()
            LooseText.read(text).supports(text)
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(30_000) < 40 * max(seconds(3_000), 1e-4)
