"""The most memory that this process has held."""

from pathlib import Path


def high_water() -> float:
    """MiB. Not `ru_maxrss`: a process inherits that from the one that started it."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
