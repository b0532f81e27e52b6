"""Files of a checkpoint, as small as they can be and still whole."""

import json
import zipfile
from pathlib import Path

STATES = ("optimizer.pt", "scheduler.pt", "rng_state.pth")


def safetensors(path: Path, data: bytes = b"weights!") -> Path:
    """A file of one tensor of bytes."""
    header = json.dumps({"a": {"dtype": "U8", "shape": [len(data)], "data_offsets": [0, len(data)]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
    return path


def torch_zip(path: Path) -> Path:
    """What `torch.save` writes, from the outside."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("archive/data.pkl", b"state")
    return path


def checkpoint(folder: Path, step: int, weights: str = "adapter_model.safetensors") -> Path:
    """A whole `checkpoint-N`."""
    place = folder / f"checkpoint-{step}"
    place.mkdir()
    safetensors(place / weights)
    for name in STATES:
        torch_zip(place / name)
    (place / "trainer_state.json").write_text(json.dumps({"global_step": step}))
    return place
