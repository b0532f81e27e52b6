"""Whether a file of weights or of a trainer's state was written to its end, told from its header alone."""

import json
import zipfile
from pathlib import Path

_MAX_HEADER = 100_000_000  # as the format's own reader has it


def safetensors_fault(path: Path) -> str:
    """What is wrong with a safetensors file, in a few words; "" when header and length agree.

    The file is a length (8 bytes), a JSON header with the place of every tensor, and the tensors without a
    gap: it is whole when it ends where the last of them does.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 + length or length > _MAX_HEADER:
                return f"cut off after {size} bytes" if length <= _MAX_HEADER else "no safetensors file"
            header = json.loads(file.read(length))
        ends = [int(entry["data_offsets"][1]) for name, entry in header.items() if name != "__metadata__"]
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    except (ValueError, AttributeError, TypeError, KeyError, IndexError, RecursionError):
        return "no safetensors file"
    due = 8 + length + max(ends, default=0)
    return "" if size == due else f"{size} bytes long instead of {due}"


def zip_fault(path: Path) -> str:
    """What is wrong with a file that `torch.save` wrote: it is a zip file, whose directory is its end."""
    try:
        with zipfile.ZipFile(path) as file:
            return "" if file.namelist() else "empty"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    except (zipfile.BadZipFile, ValueError):
        return "cut off"


def weights_fault(path: Path) -> str:
    """`safetensors_fault` or `zip_fault`, whichever format the name says."""
    if not path.is_file():
        return "missing"
    return safetensors_fault(path) if path.suffix == ".safetensors" else zip_fault(path)
