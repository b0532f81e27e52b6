"""Remember what depends on the task and not on the completion: its tokens, its gold call in normal form."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, TypeVarTuple, Unpack

from tasks.tool_task import ToolTask

Value = TypeVar("Value")
Switches = TypeVarTuple("Switches")
_LIMIT = 65_536


def per_task(
    function: Callable[[ToolTask, Unpack[Switches]], Value],
) -> Callable[[ToolTask, Unpack[Switches]], Value]:
    """Compute once per task object and (hashable, positional) switches.

    Tasks are frozen but hold mappings, so they cannot be hashed: the key is the object's identity, and the
    task is kept beside the value so that an identity is never used again while it is remembered.
    """
    memory: dict[tuple[object, ...], tuple[ToolTask, Value]] = {}

    @wraps(function)
    def recall(task: ToolTask, *switches: *Switches) -> Value:
        key = (id(task), *switches)
        entry = memory.get(key)
        if entry is None:
            if len(memory) >= _LIMIT:
                memory.clear()
            entry = memory[key] = (task, function(task, *switches))
        return entry[1]

    return recall
