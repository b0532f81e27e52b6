"""A file that was cut off is told from a whole one, for every length that it may have been cut to."""

from pathlib import Path

import pytest

from tasks.whole_file import safetensors_fault, weights_fault, zip_fault


def test_real_files_are_whole_and_no_prefix_of_them_is(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    file, state = tmp_path / "model.safetensors", tmp_path / "optimizer.pt"
    save_file({"a": torch.ones(3, 2), "b": torch.zeros(5)}, file, metadata={"format": "pt"})
    torch.save({"step": torch.ones(4)}, state)
    for path, told in ((file, safetensors_fault), (state, zip_fault)):
        assert told(path) == weights_fault(path) == ""
        whole = path.read_bytes()
        for size in {*range(0, len(whole), 7), len(whole) - 1}:
            path.write_bytes(whole[:size])
            assert told(path)
    save_file({}, file)
    assert safetensors_fault(file) == ""


@pytest.mark.parametrize(
    "content",
    [b"", b"x", b"\xff" * 64, (2).to_bytes(8, "little") + b"[]", (7).to_bytes(8, "little") + b'{"a":1}'],
)
def test_what_is_no_such_file(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(content)
    assert safetensors_fault(file)
    assert zip_fault(file) == "cut off"
    assert weights_fault(tmp_path / "none.bin") == "missing"
    assert "cannot be read" in zip_fault(tmp_path)
