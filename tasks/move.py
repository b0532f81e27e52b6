"""The questioner's moves, and the one spelling of each (arXiv 2609.37236).

Several spellings of STOP would let preference training learn separators instead of stopping, so both moves
are written by `spell` alone, wherever a prompt, a record or a training row needs one.
"""

from dataclasses import dataclass
from json.encoder import encode_basestring as _quoted
from typing import Any

from tasks.json_text import loads

STOP_TEXT = '{"action": "STOP"}'


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to retrieve by. `parents` are the uids that led to it: audited, never scored."""

    question: str
    rationale: str = ""
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """No more questions. `malformed` says what was wrong with a text that is no move and so ends the run."""

    malformed: str = ""


Move = Ask | Stop


def spell(move: Move) -> str:
    """The canonical text of a move."""
    if isinstance(move, Stop):
        return STOP_TEXT
    parents = ", ".join(map(_quoted, move.parents))
    return (
        f'{{"action": "ASK", "question": {_quoted(move.question)}, '
        f'"rationale": {_quoted(move.rationale)}, "parents": [{parents}]}}'
    )


def parse(text: str) -> Move:
    """The move that a model wrote: one JSON object, bare or in a code fence. Never raises.

    Anything else is a STOP that says what was wrong; there is no second try.
    """
    body = text.strip()
    if body.startswith("```") and body.endswith("```") and len(body) > 6:
        body = body[3:-3].removeprefix("json").strip()
    try:
        found: Any = loads(body)
    except (ValueError, RecursionError):
        return Stop("no JSON object")
    if not isinstance(found, dict):
        return Stop("no JSON object")
    action = found.get("action")
    if action == "STOP":
        return Stop()
    if action != "ASK":
        return Stop("an action that is neither ASK nor STOP")
    question = found.get("question")
    if not isinstance(question, str) or not question.strip():
        return Stop("ASK without a question")
    rationale, parents = found.get("rationale", ""), found.get("parents", [])
    return Ask(
        " ".join(_writable(question).split()),
        _writable(rationale) if isinstance(rationale, str) else "",
        tuple(_writable(uid) for uid in parents if isinstance(uid, str)) if isinstance(parents, list) else (),
    )


def _writable(text: str) -> str:
    """The text without halves of characters, which no file can hold."""
    return text.encode("utf-8", errors="replace").decode()
