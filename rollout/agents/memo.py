"""What the frozen roles said, kept on disk by content: the same call is never paid for twice.

Many processes may share a folder. Each reads all of it when it starts, and appends to a file of its own. All
that was said is held in memory: about a kilobyte a call.
"""

import asyncio
import fcntl
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from rollout.agents.protocol import Answerer, Drafter, Evidence, Said, Spent
from rollout.append import append
from tasks.errors import InputError
from tasks.multi_hop import Question


class Memo:
    """Calls by the key of their content. Without a folder it lasts as long as the process."""

    def __init__(self, folder: Path | None = None) -> None:
        self.calls = 0
        self.saved = 0
        self._said: dict[bytes, Said] = {}
        self._under_way: dict[bytes, asyncio.Task[Said]] = {}
        self._file = None if folder is None else _claim(folder)
        for file in sorted(folder.glob("*.jsonl")) if folder else []:
            self._read(file)

    async def get(self, parts: tuple[object, ...], call: Callable[[], Awaitable[Said]]) -> Said:
        """What `call` says, or has said before. One that is under way is waited for, not made again."""
        self.calls += 1
        key = hashlib.sha256(repr(parts).encode("utf-8", errors="replace")).digest()[:16]
        if key in self._said:
            self.saved += 1
            return self._said[key]
        if key in self._under_way:
            self.saved += 1
        else:
            self._under_way[key] = asyncio.ensure_future(self._make(key, call))
        return await asyncio.shield(self._under_way[key])

    def close(self) -> None:
        """Let others have the file."""
        if self._file is not None:
            self._file.close()

    async def _make(self, key: bytes, call: Callable[[], Awaitable[Said]]) -> Said:
        try:
            said = await call()
        finally:
            del self._under_way[key]
        self._said[key] = said
        if self._file is not None:
            row = [key.hex(), said.text, said.spent.prompt, said.spent.new]
            append(self._file, json.dumps(row).encode() + b"\n")
        return said

    def _read(self, file: Path) -> None:
        for line in file.read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break  # another process is at it, or was killed
            try:
                key, text, prompt, new = json.loads(line)
                self._said[bytes.fromhex(key)] = Said(str(text), Spent(int(prompt), int(new)))
            except (ValueError, TypeError):
                raise InputError(f"{file}: not what a memo holds; remove the file, it is made anew") from None


def _claim(folder: Path) -> FileIO:
    """The first file of the folder that no other process has; what a kill tore off its end is cut."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(10_000):
            file = (folder / f"{number:04d}.jsonl").open("a+b", buffering=0)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                continue
            file.seek(0)
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)
            return file
    except OSError as error:
        raise InputError(
            f"memo {folder}: cannot be written ({error.strerror}); give another folder"
        ) from None
    raise InputError(f"{folder}: ten thousand processes share this memo; give another folder")


@dataclass(frozen=True, slots=True)
class MemoDrafter:
    """A drafter whose calls are kept. `pin` names its model and prompts."""

    drafter: Drafter
    memo: Memo
    pin: str

    async def resolve(
        self, question: Question, asked: str, evidence: Evidence, fetched: Evidence, seed: int
    ) -> Said:
        """See `Drafter`."""
        parts = ("resolve", self.pin, question, asked, _uids(evidence), _uids(fetched), seed)
        return await self.memo.get(
            parts, lambda: self.drafter.resolve(question, asked, evidence, fetched, seed)
        )

    async def draft(self, question: Question, evidence: Evidence, seed: int) -> Said:
        """See `Drafter`."""
        parts = ("draft", self.pin, question, _uids(evidence), seed)
        return await self.memo.get(parts, lambda: self.drafter.draft(question, evidence, seed))


@dataclass(frozen=True, slots=True)
class MemoAnswerer:
    """An answerer whose calls are kept."""

    answerer: Answerer
    memo: Memo
    pin: str

    async def answer(self, question: Question, evidence: Evidence, draft: str, seed: int) -> Said:
        """See `Answerer`."""
        parts = ("answer", self.pin, question, _uids(evidence), draft, seed)
        return await self.memo.get(parts, lambda: self.answerer.answer(question, evidence, draft, seed))


def _uids(evidence: Evidence) -> tuple[str, ...]:
    return tuple(one.uid for one in evidence)
