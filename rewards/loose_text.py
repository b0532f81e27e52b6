"""A user's text as the `loose` grounding rule reads it: what a person would recognise as "that was said".

Beyond whole words: accents and case do not count; "Wi-Fi", "wifi", "wi_fi" and "WiFi" agree; "1,000", "1k"
and "one thousand" support 1000; "13th of Feb 2024" supports "2024-02-13" and "2 pm" supports "14:00"; "San
Jose" supports "San Jose, CA"; "NYC" supports "New York City". A longer text needs half of its words. What
must be computed (differences, relative dates) or known (codes, coordinates) is not supported.
"""

import re
import unicodedata
from dataclasses import dataclass

from rewards.said import dates, is_moment, numbers, times, years

# Scripts written without spaces: every character is a word of its own.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W\d_{_UNSPACED}][^\W_{_UNSPACED}]*|\d+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_UNSPACED_CHARACTER = re.compile(rf"[{_UNSPACED}]")
_CAPITALS = re.compile(r"\b[A-Z]{2,5}\b")
_CAPITALISED = re.compile(r"\b[A-Z][^\W\d_]*(?:\s+(?:of\s+(?:the\s+)?|the\s+)?[A-Z][^\W\d_]*)+")
_NUMBER = re.compile(r"\s*[-+]?[$€£]?\d[\d,]*(?:\.\d+)?\s*%?\s*")
_ACCENTS = re.compile("[\u0300-\u036f]")
_ENDINGS = (
    ("able", 4),
    ("ing", 3),
    ("al", 4),
    ("ed", 3),
    ("es", 3),
    ("ly", 4),
    ("s", 3),
)  # and the least left
_SWITCH_WORDS = frozenset({"yes", "no", "true", "false", "with", "without"})
# Words that say nothing about which switch is meant.
_EMPTY = frozenset(
    "a an and any are as at be by can default do does false flag for from has have if in include included "
    "indicate indicates indicating is it its not of off on only or set should show specifies that the this "
    "to true use value when whether which will with boolean parameter optional".split()
)


@dataclass(frozen=True, slots=True)
class LooseText:
    """One text, read once: words, their places, numbers, dates, times and initials."""

    glued: str  # all words without what stood between them
    starts: frozenset[int]  # where in `glued` a word begins
    ends: frozenset[int]  # and ends
    words: frozenset[str]
    stems: frozenset[str]
    numbers: frozenset[float]
    dates: frozenset[tuple[int, int]]  # (month, day)
    years: frozenset[int]
    times: frozenset[tuple[int, int]]  # (hour, minute)
    initials: frozenset[str]  # of capitalised names: "New York City" gives nyc
    capitals: frozenset[str]  # abbreviations as written: "NYC" gives nyc

    @classmethod
    def read(cls, text: str) -> "LooseText":
        """Read a text of any length in linear time."""
        words = split(text)
        starts, ends, place = set(), set(), 0
        for word in words:
            starts.add(place)
            place += len(word)
            ends.add(place)
        plain = _fold(text)
        return cls(
            glued="".join(words),
            starts=frozenset(starts),
            ends=frozenset(ends),
            words=frozenset(words),
            stems=frozenset(map(_stem, words)),
            numbers=numbers(plain),
            dates=dates(plain),
            years=years(plain),
            times=times(plain, spoken=True),
            initials=frozenset(_initials(match) for match in _CAPITALISED.findall(text)),
            capitals=frozenset(match.lower() for match in _CAPITALS.findall(text)),
        )

    def supports(self, value: str) -> bool:
        """Whether a text value was said, in one of the spellings that the module names."""
        words = split(value)
        if not words:
            return False
        if self.has_words("".join(words)):
            return True
        plain = _fold(value)
        if is_moment(plain):
            return self._has_moment(plain)
        if _NUMBER.fullmatch(value):
            return not self.numbers.isdisjoint(numbers(plain))
        name = value.split(",", 1)[0]
        if (
            name != value and len(words) <= 6
        ):  # "San Jose, CA": what follows the name may go unsaid, the name not
            words = split(name) or words
            if self.has_words("".join(words)):
                return True
        if self._has_initials(name):
            return True
        if _UNSPACED_CHARACTER.search(value):
            return False  # single characters recur too easily for the half rule
        return 2 * sum(_stem(word) in self.stems for word in words) >= len(words)

    def has_number(self, value: float) -> bool:
        """Whether the number was said, in digits or in words."""
        return value in self.numbers or (value < 0 and -value in self.numbers)

    def has_words(self, glued: str) -> bool:
        """Whether the words, glued together, stand in the text from a word's beginning to a word's end."""
        place = self.glued.find(glued)
        while place >= 0:
            if place in self.starts and place + len(glued) in self.ends:
                return True
            place = self.glued.find(glued, place + 1)
        return False

    def mentions_switch(self, name: str, description: str) -> bool:
        """Whether the text speaks of a boolean: by its name, a word of its description, or yes and no."""
        if not self.words.isdisjoint(_SWITCH_WORDS):
            return True
        keys = {_stem(w) for w in split(f"{name} {description}") if w not in _EMPTY and len(w) > 2}
        return not self.stems.isdisjoint(keys)

    def _has_moment(self, plain: str) -> bool:
        said_dates, said_years, said_times = dates(plain), years(plain), times(plain, spoken=False)
        if said_dates and self.dates.isdisjoint(said_dates):
            return False
        if said_years and self.years and self.years.isdisjoint(said_years):
            return False  # a year that was not said may be understood, a different one not
        clock = said_times - {(0, 0)} if said_dates else said_times
        return not (clock and self.times.isdisjoint(clock))

    def _has_initials(self, name: str) -> bool:
        if _CAPITALS.fullmatch(name.strip()):
            return name.strip().lower() in self.initials
        return bool(_CAPITALISED.fullmatch(name.strip())) and _initials(name) in self.capitals


def split(text: str) -> list[str]:
    """Case-folded words without accents; camelCase and letters after digits count as separate words."""
    return _WORD.findall(_fold(_CAMEL.sub(" ", text)))


def _fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare).casefold()


def _initials(name: str) -> str:
    return "".join(word[0] for word in name.split() if word[0].isupper()).lower()


def _stem(word: str) -> str:
    """Without the commonest English endings: "apartments" meets "apartment", "musical" meets "music"."""
    for ending, least in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            word = word[: -len(ending)]
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
