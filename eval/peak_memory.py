"""The most memory that a process has held."""

from pathlib import Path


def high_water(process: int | str = "self") -> float:
    """MiB. Not `ru_maxrss`: a process inherits that from the one that started it.

    Raises OSError or StopIteration for a process that has ended.
    """
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
