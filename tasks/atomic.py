"""Files that are either whole or absent: written beside their place, then renamed into it."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path`, replacing what is there in one step.

    A reader, and the next start after a kill, sees the old file or the new one, never a part of either.
    The folder is made when it is missing.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())  # mkstemp makes files that nobody else may read
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_text(path: Path, content: str) -> None:
    """`write_bytes` for text; lone surrogates, which models can produce, become replacement characters."""
    write_bytes(path, content.encode("utf-8", errors="replace"))


def write_json(path: Path, content: Mapping[str, Any] | list[Any]) -> None:
    """`write_text` of indented JSON. NaN and infinity are errors: other readers of JSON refuse them."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def is_leftover(path: Path) -> bool:
    """Whether `path` is a temporary file of a writer that was killed."""
    return path.name.startswith(".") and path.name.endswith(".tmp")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
