"""A reward of the user's own: called with care, and what it returns made a Score or told to be none."""

import math
import traceback
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

from rewards.score import Score
from tasks.errors import InputError


def own_score(use: str, function: Callable[..., Any], *config_task_completion: Any) -> Score:
    """What `function(task, completion)`, or with a config `function(task, completion, config)`, says.

    It may return a Score, a number, or None (does not apply). Raises InputError, naming the reward and the
    line of its file, when it raises, and when a value or a part is not a finite number.
    """
    *config, task, completion = config_task_completion
    try:
        found = function(task, completion, *config)
    except (Exception, SystemExit) as error:
        raise InputError(
            f"reward {use} raised {type(error).__name__}: {error} ({_line(function, error)}); mend the reward"
        ) from error
    score = found if isinstance(found, Score) else Score(found)
    wrong = _fault(score)
    if wrong:
        raise InputError(
            f"reward {use} ({_file(function)}) returned {wrong}; return a Score, a finite number or None"
        )
    if score is found and (score.value is None or type(score.value) is float):
        return score
    return Score(None if score.value is None else float(score.value), score.parts, score.reason)


def _fault(score: Score) -> str:
    """What of a score is not as declared, in a few words."""
    if score.value is not None and not _is_number(score.value):
        return _say(score.value)
    if not isinstance(score.parts, Mapping):
        return f"a Score with parts that are {_say(score.parts)}, no mapping"
    for name, part in score.parts.items():
        if not isinstance(name, str) or not _is_number(part):
            return f"a Score whose part {name!r} is {_say(part)}"
    return "" if isinstance(score.reason, str) else f"a Score whose reason is {_say(score.reason)}"


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


def _say(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 40 else text[:37] + '...'} ({type(value).__name__})"


def _file(function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    return code.co_filename if code else getattr(function, "__module__", "?")


def _line(function: Callable[..., Any], error: BaseException) -> str:
    """The last line of the reward's own file that ran."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [frame for frame in frames if frame.filename == _file(function)] or frames
    return f"{own[-1].filename}, line {own[-1].lineno}" if own else _file(function)
