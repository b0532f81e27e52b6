"""The folder of a run: what ran (recipe, versions, data), and whether a new start may go on from there.

    run_dir = RunDir.open(output_dir, recipe.resolved, task_set.hashes)
    if run_dir.finished:
        return
    trainer.train(resume_from_checkpoint=str(run_dir.checkpoint) if run_dir.checkpoint else None)
    trainer.save_model()
    run_dir.finish(trainer.state.global_step)

The folder of the same recipe is resumed from its last complete checkpoint, and left as it is once the run
has finished. Any other recipe is refused (apart from `same_recipe.FREE_KEYS` and a larger
`trainer.max_steps`), as are other data and a foreign folder.
"""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tasks.atomic import is_leftover, write_json, write_text
from tasks.errors import InputError
from train.checkpoints import checkpoints, fault, last_checkpoint, read_json, step_of
from train.same_recipe import MAX_STEPS, differences, plain
from train.versions import changes, versions

logger = logging.getLogger(__name__)

RECIPE, VERSIONS, DATA, FINISHED = "recipe.yaml", "versions.json", "data.json", "finished.json"
ELSEWHERE = "give another output_dir"


@dataclass(frozen=True, slots=True)
class RunDir:
    """An opened run directory: where to resume (`checkpoint` None: at the start) and at which `step`.

    `writer` is True on the one process that writes, rank 0. `finished`: the run has taken all of its steps.
    """

    path: Path
    writer: bool = True
    checkpoint: Path | None = None
    step: int = 0
    finished: bool = False

    @classmethod
    def open(
        cls,
        path: Path | str,
        recipe: Mapping[str, Any],
        data_hashes: Mapping[str, str],
        rank: int | None = None,
    ) -> "RunDir":
        """Check the folder, write the three manifests on rank 0, and find the checkpoint to resume from.

        `recipe` is the resolved mapping; `rank` is the launcher's RANK unless given. The other ranks neither
        check nor write, so that an error is reported once. Nothing is written into the folder of a run that
        has finished. Raises `InputError` when the folder may not be resumed.
        """
        path = Path(path).expanduser().absolute()
        rank = int(os.environ.get("RANK", "0")) if rank is None else rank
        finished = _finished(path, recipe)
        if rank == 0:
            _claim(path, plain(recipe), dict(data_hashes), finished)
        checkpoint = last_checkpoint(path)
        step = step_of(checkpoint) if checkpoint else 0
        if rank == 0 and not finished:
            _tell_broken(path, step)
        return cls(path, rank == 0, checkpoint, step, finished)

    def finish(self, step: int) -> None:
        """Note, once the policy is saved, that the run has taken all of its `step` steps."""
        self.write_json(FINISHED, {"step": step})

    def write_text(self, name: str, content: str) -> None:
        """Write a file of the folder in one step; other ranks than 0 do nothing."""
        if self.writer:
            write_text(self.path / name, content)

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a JSON file of the folder in one step; other ranks than 0 do nothing."""
        if self.writer:
            write_json(self.path / name, content)


def _finished(path: Path, recipe: Mapping[str, Any]) -> bool:
    """Whether the folder's run has nothing left to do under this recipe; a larger `max_steps` adds to it."""
    note = read_json(path / FINISHED)
    step = note.get("step") if isinstance(note, dict) else None
    if not isinstance(step, int):
        return False
    trainer = recipe.get("trainer")
    steps = trainer.get("max_steps") if isinstance(trainer, Mapping) else None
    return not isinstance(steps, int) or steps <= step


def _claim(path: Path, recipe: dict[str, Any], hashes: dict[str, str], finished: bool) -> None:
    """Make the folder of a new run, or check that an existing one is of this recipe and these data."""
    if path.exists() and not path.is_dir():
        raise InputError(f"output_dir {path} is a file; give a folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
        manifest = versions(processes=int(os.environ.get("WORLD_SIZE", "1")))
        if any(not is_leftover(entry) for entry in path.iterdir()):
            _compare_recipes(path, recipe)
            _compare_data(path, hashes)
            if finished:
                return
            _compare_versions(path, manifest)
        # The recipe first: if we are killed between two of the files, it shows that the folder is ours.
        write_text(path / RECIPE, yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True))
        write_json(path / VERSIONS, manifest)
        write_json(path / DATA, hashes)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"output_dir {path} cannot be used ({reason}); {ELSEWHERE}") from error


def _compare_recipes(path: Path, recipe: dict[str, Any]) -> None:
    if not (path / RECIPE).is_file():
        raise InputError(f"output_dir {path} holds files but no {RECIPE}, so it is no run's; {ELSEWHERE}")
    try:
        old = yaml.safe_load((path / RECIPE).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        old = None
    if not isinstance(old, dict):
        raise InputError(f"{path / RECIPE} is no recipe, so the run cannot be resumed; {ELSEWHERE}")
    found = differences(old, recipe)
    if not found:
        return
    told = "; ".join(f"{name} was {_say(old)} and is now {_say(new)}" for name, old, new in found[:3])
    more = f"; {len(found) - 3} more keys differ" if len(found) > 3 else ""
    mend = f"set {found[0][0] if len(found) == 1 else 'them'} back to resume, or {ELSEWHERE}"
    if found[0][0] == MAX_STEPS:
        mend = "a run can be made longer, not shorter: " + mend
    raise InputError(f"output_dir {path} holds a run of another recipe: {told}{more}; {mend}")


def _compare_data(path: Path, hashes: dict[str, str]) -> None:
    old = read_json(path / DATA)
    if not isinstance(old, dict):
        if last_checkpoint(path) is None:
            return  # killed before it was written: nothing has been learnt from any data yet
        raise InputError(f"{path / DATA} is missing or broken: the data of this run are unknown; {ELSEWHERE}")
    for name in [*hashes, *(name for name in old if name not in hashes)]:
        if old.get(name) != hashes.get(name):
            raise InputError(
                f"output_dir {path} holds a run on other data: the hash of {name} was {_say(old.get(name))} "
                f"and is now {_say(hashes.get(name))}; restore the data to resume, or {ELSEWHERE}"
            )


def _compare_versions(path: Path, manifest: dict[str, Any]) -> None:
    """Other versions are no other recipe, but the next steps may differ in the last digits: say so."""
    old = read_json(path / VERSIONS)
    if isinstance(old, dict) and (told := changes(old, manifest)):
        logger.warning("%s was last run with other versions: %s", path, "; ".join(told))


def _tell_broken(path: Path, step: int) -> None:
    """Say which checkpoints are passed over, and why: they are newer than the one to resume from."""
    broken = [f"{entry.name} ({fault(entry)})" for entry in checkpoints(path) if step_of(entry) > step]
    if broken:
        logger.warning("%s: not complete: %s; the run goes on from step %d", path, ", ".join(broken), step)


def _say(value: Any) -> str:
    return "not set" if value is None else repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
