"""Numbers, dates and times as people write them, found in case-folded text without accents.

Everything returned is a set of possibilities: "03/05" may be March 5 or May 3, "3:30" may be morning or
afternoon.
"""

import re

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_WORD = (
    r"\b(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+day)?(?:\s+of)?[\s-]{{1,3}}{_MONTH_WORD}")
_MONTH_DAY = re.compile(rf"{_MONTH_WORD}\.?[\s-]{{1,3}}(?:the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?\b")
_MONTH = re.compile(_MONTH_WORD)
_ORDINAL = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b")
_YEAR_FIRST = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_YEAR_LAST = re.compile(r"(?<!\d)(\d{1,2})[-/.](\d{1,2})[-/.](?:\d{4}|\d{2})(?!\d)")
_NO_YEAR = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})(?![\d/])")
_YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
_TIME = re.compile(
    r"(?<![\d:.])(\d{1,2})(?::(\d{2}))?(?::\d{2}(?:\.\d+)?)?\s?(am|pm|a\.m|p\.m|o'clock)?(?![\d:])"
)
_MOMENT = re.compile(
    rf"(?:[\d\s:/.,tz+-]|\b(?:am|pm|of|at|the|day)\b|(?<=\d)(?:st|nd|rd|th|am|pm)|{_MONTH_WORD})+"
)

_NUMERAL = re.compile(
    r"(?<![\w.])(\d+(?:[.,]\d+)*)\s?(k|m|bn|thousand|million|billion|hundred|dozen|percent|%)?(?!\w)"
)
_DIGITS_THEN_UNIT = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(?=[a-z]{1,6}\b)")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_SCALE = {"k": 1e3, "m": 1e6, "bn": 1e9, "thousand": 1e3, "million": 1e6, "billion": 1e9, "hundred": 1e2}
_SCALE |= {"dozen": 12.0, "percent": 0.01, "%": 0.01}
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS = {word: float(value) for value, word in enumerate(_UNITS)}
_WORDS |= {word: 10.0 * value for value, word in enumerate(_TENS, start=2)}
_WORDS |= {"single": 1.0, "once": 1.0, "first": 1.0, "twice": 2.0, "second": 2.0, "couple": 2.0, "both": 2.0}
_WORDS |= {"pair": 2.0, "third": 3.0, "dozen": 12.0, "half": 0.5, "alone": 1.0, "myself": 1.0}
_LETTERS = re.compile(r"[a-z]+|\d")


def numbers(text: str) -> frozenset[float]:
    """Every number that the text may mean: "1,000", "1k", "10 %" (10 and 0.1), "twenty-five", "5km"."""
    found: set[float] = set()
    for digits, scale in _NUMERAL.findall(text):
        for value in _readings(digits):
            found.add(value)
            if scale:
                found.add(value * _SCALE[scale])
    found.update(float(digits) for digits in _DIGITS_THEN_UNIT.findall(text) if len(digits) < 20)
    found.update(_spoken(text))
    return frozenset(found)


def _readings(digits: str) -> list[float]:
    if len(digits) > 40:
        return []
    if _THOUSANDS.fullmatch(digits):
        return [float(digits.replace(",", ""))]
    if digits.count(".") <= 1 and "," not in digits:
        return [float(digits)]
    return [float(part) for part in re.split("[.,]", digits)]


def _spoken(text: str) -> set[float]:
    """Number words, compounds up to the thousands: "two hundred and five"."""
    found: set[float] = set()
    total = current = 0.0
    open_number = False
    for word in _LETTERS.findall(text):
        if word in ("hundred", "thousand") and open_number:
            current *= 100.0 if word == "hundred" else 1.0
            if word == "thousand":
                total, current = total + current * 1000.0, 0.0
        elif word in _WORDS:
            value = _WORDS[word]
            found.add(value)
            joins = current % 100 == 0 or (current % 100 >= 20 and current % 10 == 0 and value < 10)
            if open_number and not joins:
                found.add(total + current)
                total = current = 0.0
            current += value
            open_number = True
        elif word != "and" and open_number:
            found.add(total + current)
            total, current, open_number = 0.0, 0.0, False
    if open_number:
        found.add(total + current)
    return found


def dates(text: str) -> frozenset[tuple[int, int]]:
    """(month, day) of every date; both readings where the order is open."""
    found = {(_month(name), int(day)) for day, name in _DAY_MONTH.findall(text)}
    found |= {(_month(name), int(day)) for name, day in _MONTH_DAY.findall(text)}
    months = {_month(name) for name in _MONTH.findall(text)}
    found |= {(month, int(day)) for day in _ORDINAL.findall(text) for month in months}
    found |= {(int(month), int(day)) for _, month, day in _YEAR_FIRST.findall(text)}
    for pattern in (_YEAR_LAST, _NO_YEAR):
        for one, other in pattern.findall(text):
            found |= {(int(one), int(other)), (int(other), int(one))}
    return frozenset((month, day) for month, day in found if 1 <= month <= 12 and 1 <= day <= 31)


def years(text: str) -> frozenset[int]:
    """Every number that looks like a year of this century or the last."""
    return frozenset(map(int, _YEAR.findall(text)))


def times(text: str, *, spoken: bool) -> frozenset[tuple[int, int]]:
    """(hour, minute) of every clock time; with `spoken`, "3:30" without am or pm may be the afternoon too."""
    found: set[tuple[int, int]] = set()
    for hour_digits, minute, half in _TIME.findall(text):
        hour = int(hour_digits)
        if not (minute or half) or hour > 23:
            continue
        if half.startswith("p"):
            hours = {hour % 12 + 12}
        elif half.startswith("a"):
            hours = {hour % 12}
        elif spoken and hour <= 12:
            hours = {hour, (hour + 12) % 24}
        else:
            hours = {hour}
        found |= {(hour, int(minute or 0)) for hour in hours}
    if spoken and "noon" in text:
        found.add((12, 0))
    if spoken and "midnight" in text:
        found.add((0, 0))
    return frozenset(found)


def is_moment(text: str) -> bool:
    """Whether a value is a date, a time, or both, and nothing else."""
    return bool(_MOMENT.fullmatch(text)) and bool(dates(text) or times(text, spoken=False))


def _month(name: str) -> int:
    return _MONTHS.index(name[:3]) + 1
