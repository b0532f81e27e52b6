"""The folder of a run: what ran (recipe, versions, data), and whether a new start may go on from there.

    run_dir = RunDir.open(output_dir, recipe.resolved, task_set.hashes)
    if run_dir.finished:
        return
    trainer.train(resume_from_checkpoint=str(run_dir.checkpoint) if run_dir.checkpoint else None)
    trainer.save_model()
    run_dir.finish(trainer.state.global_step)

The folder of the same recipe is resumed from its last complete checkpoint, and left as it is once the run
has finished. Any other recipe is refused (apart from `same_recipe.FREE_KEYS` and a larger
`trainer.max_steps`), as are other data and a foreign folder. A folder whose run failed before it logged a
step holds nothing to lose, and is taken over.
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
from train import folder_lock
from train.checkpoints import (
    SHARD_LISTS,
    WEIGHTS,
    checkpoints,
    fault,
    last_checkpoint,
    read_json,
    step_of,
)
from train.metrics_log import METRICS
from train.same_recipe import MAX_STEPS, differences, plain
from train.versions import changes, versions

logger = logging.getLogger(__name__)

RECIPE, VERSIONS, DATA, FINISHED = "recipe.yaml", "versions.json", "data.json", "finished.json"
ELSEWHERE = "give another output_dir"


class _OtherRun(InputError):
    """The folder holds a run of another recipe or on other data."""


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
        folder_lock.release(self.path)

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
    step = _last_step(path)
    if step is None:
        return False
    trainer = recipe.get("trainer")
    steps = trainer.get("max_steps") if isinstance(trainer, Mapping) else None
    return not isinstance(steps, int) or steps <= step


def _last_step(path: Path) -> int | None:
    """The step at which the folder's run finished; None where it has not."""
    note = read_json(path / FINISHED)
    step = note.get("step") if isinstance(note, dict) else None
    return step if isinstance(step, int) else None


def _claim(path: Path, recipe: dict[str, Any], hashes: dict[str, str], finished: bool) -> None:
    """Make the folder of a new run, or check that an existing one is of this recipe and these data."""
    if path.exists() and not path.is_dir():
        raise InputError(f"output_dir {path} is a file; give a folder")
    try:
        path.mkdir(parents=True, exist_ok=True)
        manifest = versions(processes=int(os.environ.get("WORLD_SIZE", "1")))
        alone = folder_lock.hold(path)
        if any(not is_leftover(entry) for entry in path.iterdir()):
            try:
                _compare_recipes(path, recipe)
                _compare_data(path, hashes)
            except _OtherRun:
                if _has_begun(path):
                    raise
                _take_over(path, alone)
            if finished:
                folder_lock.release(path)
                return
            _refuse_without_checkpoint(path)
            _compare_versions(path, manifest)
        # The recipe first: if we are killed between two of the files, it shows that the folder is ours.
        write_text(path / RECIPE, yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True))
        write_json(path / VERSIONS, manifest)
        write_json(path / DATA, hashes)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"output_dir {path} cannot be used ({reason}); {ELSEWHERE}") from error


def _has_begun(path: Path) -> bool:
    """Whether the folder's run has left anything that would be lost."""
    traces = (METRICS, FINISHED, *WEIGHTS, *SHARD_LISTS)
    return bool(checkpoints(path)) or any((path / name).exists() for name in traces)


def _take_over(path: Path, alone: bool) -> None:
    """Let this recipe have the folder of another, unless that one is just starting."""
    if not alone:
        raise InputError(
            f"output_dir {path} is in use: another process is starting a run of another recipe there; "
            f"wait for it to end, or {ELSEWHERE}"
        ) from None
    logger.warning("%s: its run failed before it logged a step; this recipe takes the folder over", path)


def _refuse_without_checkpoint(path: Path) -> None:
    """A finished run is made longer from its last checkpoint; from step 0 it would lose what it has."""
    if (step := _last_step(path)) and last_checkpoint(path) is None:
        raise InputError(
            f"output_dir {path}: its run finished at step {step} and left no complete checkpoint to go on "
            f"from (trainer.save_strategy, trainer.save_only_model); {ELSEWHERE}"
        )


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
    raise _OtherRun(f"output_dir {path} holds a run of another recipe: {told}{more}; {mend}")


def _compare_data(path: Path, hashes: dict[str, str]) -> None:
    old = read_json(path / DATA)
    if not isinstance(old, dict):
        if last_checkpoint(path) is None:
            return  # killed before it was written: nothing has been learnt from any data yet
        raise InputError(f"{path / DATA} is missing or broken: the data of this run are unknown; {ELSEWHERE}")
    for name in [*hashes, *(name for name in old if name not in hashes)]:
        if old.get(name) != hashes.get(name):
            raise _OtherRun(
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
