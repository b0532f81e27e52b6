"""Forked states in one order, however many shards hold them: sorted by key, each once."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from rollout.shards import files, keyed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Index:
    """Where each state stands: `places` is (n, 3), file, first byte and length, in the order of keys."""

    files: tuple[Path, ...]
    places: "NDArray[np.int64]"

    def __len__(self) -> int:
        return len(self.places)

    def lines(self, start: int, end: int) -> Iterator[tuple[str, bytes]]:
        """(where it stands, the line) of the states from `start` up to `end`."""
        opened: dict[int, BinaryIO] = {}
        try:
            for number, first, length in self.places[start:end].tolist():
                if number not in opened:
                    opened[number] = self.files[number].open("rb")
                opened[number].seek(first)
                yield f"{self.files[number]}, byte {first}", opened[number].read(length)
        finally:
            for file in opened.values():
                file.close()


def index(path: Path) -> Index:
    """The states of a forking, each once. Raises InputError for a line that is no record."""
    import numpy as np

    found = files(path)
    keys, places = bytearray(), array("q")
    for number, file in enumerate(found):
        start = 0
        for key, line in keyed(file):
            keys += bytes.fromhex(key)
            places.extend((number, start, len(line)))
            start += len(line)
    halves = np.frombuffer(keys, dtype=">u8").reshape(-1, 2)
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    halves = halves[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (halves[1:] != halves[:-1]).any(axis=1)
    return Index(tuple(found), np.array(places, dtype=np.int64).reshape(-1, 3)[order[new]])
