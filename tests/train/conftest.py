import sys
import textwrap
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

LAUNCH = 'launch: object = __name__ == "__main__" and __import__("train").launch(__file__); r"""\n'

# A job that stands for any: light, with a field of every kind, and it tells what it was given.
JOB = """
import json, os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping
from tasks.plain import plain

@dataclass(frozen=True, slots=True)
class Inner:
    rate: float = 0.5

@dataclass(frozen=True, slots=True)
class Config:
    output_dir: Path
    model: str = "owner/model"
    task: Mapping[str, Any] = field(default_factory=dict)
    rewards: tuple[Mapping[str, Any], ...] = ()
    data: Path | None = None
    inner: Inner = field(default_factory=Inner)
    steps: int = 1
    names: tuple[str, ...] = ()

def run(config):
    rank = os.environ.get("RANK", "0")
    config.output_dir.mkdir(parents=True, exist_ok=True)
    told = {"config": plain(config), "world": os.environ.get("WORLD_SIZE", "1")}
    (config.output_dir / f"rank{rank}.json").write_text(json.dumps(told))
"""


class Folder:
    """A folder with a job of the user's own and recipes for it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.job = f"job_{uuid.uuid4().hex}"  # modules are cached by name
        (path / f"{self.job}.py").write_text(JOB)

    def recipe(self, body: str = "", name: str = "recipe.yaml", head: str | None = None) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        first = f"job: {self.job}\noutput_dir: out\n" if head is None else head
        file.write_text(LAUNCH + first + textwrap.dedent(body) + '\n# """\n')
        return file

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
        return file


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    before = list(sys.path)
    yield Folder(tmp_path)
    sys.path[:] = before
