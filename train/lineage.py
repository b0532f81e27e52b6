"""Where an adapter comes from: its base, the adapter before it and that one's lineage, data and recipe.

`lineage.json` lies beside the adapter. It names no path of the machine: folders by their last part, files by
their content.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.errors import InputError
from train.checkpoints import read_json, weight_files
from train.model_card import public
from train.same_recipe import essence

LINEAGE = "lineage.json"
ADAPTER = "adapter_config.json"


def lineage(
    base: Mapping[str, Any], adapter: Path | None, hashes: Mapping[str, str], recipe: Mapping[str, Any]
) -> dict[str, Any]:
    """What is known of an adapter that is trained from `adapter` (None: anew) on `base`."""
    return {
        "base": dict(base),
        "parent": parent(adapter) if adapter else None,
        "data": dict(hashes),
        "recipe": {name: public(value) for name, value in essence(recipe).items()},
    }


def parent(adapter: Path) -> dict[str, Any]:
    """Name, content and lineage of an adapter; `lineage` is None where its folder has none."""
    return {
        "name": adapter.name,
        "digest": weights_digest(adapter),
        "lineage": read_json(adapter / LINEAGE),
    }


def base_of(model: str, folder: str, revision: str | None) -> dict[str, Any]:
    """Which model is the base: its name and revision, and its content where it is at hand (`folder`)."""
    known: dict[str, Any] = {"model": public(model), "revision": revision}
    if Path(folder).is_absolute():
        known["digest"] = weights_digest(Path(folder))
    return known


def weights_digest(folder: Path) -> str:
    """sha256 over the files of weights of a model or an adapter and the configuration beside them."""
    total = hashlib.sha256()
    for name in (*(n for n in ("config.json", ADAPTER) if (folder / n).is_file()), *weight_files(folder)):
        total.update(f"{name} {file_digest(folder / name)}\n".encode())
    return total.hexdigest()


def file_digest(file: Path) -> str:
    """sha256 of a file's content."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def check_base(adapter: Path, folder: str, base: Mapping[str, Any]) -> None:
    """Raise InputError unless `adapter` was trained on this base, found at `folder` (or a hub name).

    By the lineage beside it where there is one, else by the name in its own configuration.
    """
    config = read_json(adapter / ADAPTER)
    if not isinstance(config, dict) or not weight_files(adapter):
        raise InputError(f"adapter: {adapter} is no adapter: no {ADAPTER}, or no weights")
    known = read_json(adapter / LINEAGE)
    old = known.get("base") if isinstance(known, dict) else None
    if isinstance(old, dict):
        keys = ("digest",) if "digest" in base and "digest" in old else ("model", "revision")
        same, named = all(old.get(key) == base.get(key) for key in keys), old.get("model")
        if not same and named == base["model"]:
            named = f"{named} with other weights (or another revision)"
    else:
        named = config.get("base_model_name_or_path")
        folders = isinstance(named, str) and Path(named).is_absolute() and Path(folder).is_absolute()
        same = named == folder or (folders and Path(str(named)).resolve() == Path(folder).resolve())
    if not same:
        raise InputError(
            f"adapter {adapter} was trained on the base {named}, and model is {base['model']}; "
            "give the base that it was trained on"
        )
