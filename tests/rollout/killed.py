"""Kill a job that appends to a shard at random moments, and see what is there in the end."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rollout.shards import files

ROOT = Path(__file__).parents[2]


def lines(folder: Path) -> list[bytes]:
    return sorted(line for file in files(folder) for line in file.read_bytes().splitlines())


def killed(
    folder: Path, script: str, arguments: tuple[str, ...], times: int, readable: Callable[[Path], None]
) -> list[bytes]:
    """Lines that a script leaves that is killed so often, having checked that they are all and no others.

    The script is given the run folder and the arguments. `readable` checks what is there after a kill.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    calm, disturbed = folder / "calm", folder / "killed"

    def command(place: Path) -> list[str]:
        return [sys.executable, "-c", script, str(place), *arguments]

    subprocess.run(command(calm), env=environment, check=True, capture_output=True)
    (shard,) = files(calm)
    whole = shard.stat().st_size
    shard = disturbed / shard.relative_to(calm)
    draw, found = random.Random(0), []
    for _ in range(times):
        found.append(shard.stat().st_size if shard.exists() else 0)
        process = subprocess.Popen(
            command(disturbed), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        # At a random place of what is left to do, and a random moment after it.
        place = found[-1] + draw.uniform(0, 1.5) * whole / times
        while process.poll() is None and (shard.stat().st_size if shard.exists() else 0) < place:
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.005))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if shard.exists():
            readable(disturbed)
    assert len(set(found)) > times // 2  # or the kills came before anything was there, or after all was
    subprocess.run(command(disturbed), env=environment, check=True, capture_output=True)
    assert lines(disturbed) == lines(calm)
    keys = [json.loads(line)["key"] for line in lines(disturbed)]
    assert len(keys) == len(set(keys))
    return lines(disturbed)
