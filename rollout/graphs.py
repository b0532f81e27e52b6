"""`graphs.jsonl` of a recording: what its episodes are scored by. No role ever sees it."""

from pathlib import Path

from rollout.shards import GRAPHS
from tasks.errors import InputError
from tasks.json_lines import read_rows
from tasks.multi_hop import Gold


def beside(path: Path) -> Path | None:
    """The graphs of a run folder, of a folder of shards in it, or of a shard."""
    places = (path, path.parent, path.parent.parent)
    return next((place / GRAPHS for place in places if (place / GRAPHS).is_file()), None)


class Golds:
    """What each task is scored by, from one file. Raises InputError for a file or row that is none."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._golds = {
            (gold.suite, gold.task): gold
            for number, row in read_rows(file)
            for gold in [Gold.from_row(row, f"{file}, row {number}")]
        }

    @classmethod
    def of(cls, records: Path, graphs: Path | None = None) -> "Golds":
        """From `graphs`, else from the file beside the records."""
        file = graphs or beside(records)
        if file is None:
            raise InputError(
                f"{records}: no {GRAPHS} beside it; name it: --graphs FILE, in a recipe graphs=FILE"
            )
        return cls(file)

    def of_task(self, suite: str, task: str, where: object) -> Gold:
        """The gold of a task. Raises InputError, naming `where` it was recorded, for one without."""
        gold = self._golds.get((suite, task))
        if gold is None:
            raise InputError(
                f"{where}: task {task!r} of {suite} has no graph in {self.file}; give its own file"
            )
        return gold
