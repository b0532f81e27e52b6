"""What an adapter was made of, and which base it belongs to."""

import json
from pathlib import Path
from typing import Any

import pytest

from tasks.errors import InputError
from train.lineage import base_of, check_base, lineage, weights_digest


def model(folder: Path, content: bytes = b"weights") -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(content)
    return folder


def adapter(folder: Path, base: str, known: dict[str, Any] | None = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": base, "r": 4}))
    (folder / "adapter_model.safetensors").write_bytes(base.encode())
    if known:
        (folder / "lineage.json").write_text(json.dumps(known))
    return folder


def test_a_lineage_goes_back_to_the_base(tmp_path: Path) -> None:
    base = base_of("owner/base", "owner/base", None)
    assert base == {"model": "owner/base", "revision": None}
    recipe = {"job": "train.imitate", "adapter": "/machine/runs/a", "trainer": {"learning_rate": 1e-4}}
    first = lineage(base, None, {"imitation.parquet": "1"}, recipe)
    stage_a = adapter(tmp_path / "a", "owner/base", first)
    second = lineage(base, stage_a, {"pairs.parquet": "2"}, recipe)
    assert second["parent"] == {"name": "a", "digest": weights_digest(stage_a), "lineage": first}
    assert second["recipe"]["adapter"] == "a"
    assert second["recipe"]["trainer.learning_rate"] == 1e-4
    assert "/machine" not in json.dumps(second)
    foreign = adapter(tmp_path / "f", "owner/base")
    assert lineage(base, foreign, {}, recipe)["parent"]["lineage"] is None


def test_the_base_may_have_been_moved(tmp_path: Path) -> None:
    first = model(tmp_path / "first" / "base")
    known = {"base": base_of(str(first), str(first), None)}
    trained = adapter(tmp_path / "a", str(first), known)
    moved = model(tmp_path / "second" / "base")
    check_base(trained, str(moved), base_of(str(moved), str(moved), None))
    other = model(tmp_path / "third" / "base", b"others")
    with pytest.raises(InputError) as caught:
        check_base(trained, str(other), base_of(str(other), str(other), None))
    assert str(caught.value) == (
        f"adapter {trained} was trained on the base base with other weights (or another revision), and model "
        "is base; give the base that it was trained on"
    )


@pytest.mark.parametrize("known", [{"base": {"model": "owner/base", "revision": None}}, None])
def test_another_base_is_refused_naming_both(known: dict[str, Any] | None, tmp_path: Path) -> None:
    trained = adapter(tmp_path / "a", "owner/base", known)
    check_base(trained, "owner/base", base_of("owner/base", "owner/base", None))
    with pytest.raises(InputError, match="trained on the base owner/base, and model is owner/other"):
        check_base(trained, "owner/other", base_of("owner/other", "owner/other", None))


def test_a_folder_without_lineage_is_known_by_its_path(tmp_path: Path) -> None:
    base = model(tmp_path / "base")
    trained = adapter(tmp_path / "a", str(tmp_path / "x" / ".." / "base"))
    (tmp_path / "x").mkdir()
    check_base(trained, str(base), base_of(str(base), str(base), None))


def test_what_is_no_adapter(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is no adapter: no adapter_config\.json, or no weights"):
        check_base(model(tmp_path / "base"), "owner/base", base_of("owner/base", "owner/base", None))
