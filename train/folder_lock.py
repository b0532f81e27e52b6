"""One process at a time makes a folder its own; the lock goes with the process, however that ends."""

import fcntl
import os
from pathlib import Path

_held: dict[Path, int] = {}


def hold(folder: Path) -> bool:
    """Keep the folder for this process until `release`; False while another process has it.

    It is locked itself, so nothing is written into it. File systems without locks let all in.
    """
    if folder in _held:
        return True
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return False
    except OSError:
        os.close(handle)
        return True
    _held[folder] = handle
    return True


def release(folder: Path) -> None:
    """Let others have the folder."""
    if (handle := _held.pop(folder, None)) is not None:
        os.close(handle)
