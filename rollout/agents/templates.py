"""Prompts as template files. What they are filled with comes from outside and is never read as one."""

import functools
import hashlib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "prompts"


def render(name: str, **values: Any) -> str:
    """The prompt `name`, filled in. Templates put each text on one line: none can open a block of its own."""
    return str(_environment().get_template(f"{name}.jinja").render(values)).strip()


def instructions(suite: str) -> str:
    """What is special about the questions of a suite."""
    return render(for_suite("suite", suite))


def for_suite(name: str, suite: str) -> str:
    """The prompt `name` in the form that a suite has of its own, where it has one."""
    own = f"{name}_{suite}"
    return own if (FOLDER / f"{own}.jinja").is_file() else name


@functools.cache
def prompts_hash() -> str:
    """A digest of all templates: runs under other prompts cannot be compared."""
    files = sorted(FOLDER.glob("*.jinja"))
    content = b"\0".join(file.name.encode() + b"\0" + file.read_bytes() for file in files)
    return hashlib.sha256(content).hexdigest()[:12]


@functools.cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(FOLDER), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["line"] = one_line
    return environment


def one_line(text: str, longest: int | None = None) -> str:
    """The text with all white space as single spaces, cut at so many characters."""
    return " ".join(text.split())[:longest]
