"""The sections that recipes of all jobs share: where their paths lead, and the defaults of what they name."""

import re
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks import multi_hop_sources, sources
from tasks.errors import InputError
from tasks.plain import plain
from tasks.strict import build
from tasks.user_path import user_path

_TASKS = (*sources.OURS, *multi_hop_sources.USES)
_ROW_FILES = ("train", "test", "file", "paragraphs", "aliases", "drop_list")
_HUB_MODEL = re.compile(r"[\w.-]+(/[\w.-]+)?")


@dataclass(frozen=True, slots=True)
class Source:
    """Where values come from, which decides what their paths are relative to."""

    name: str
    folder: Path
    given: frozenset[str]

    def base(self, key: str) -> Path:
        """The recipe's folder; for `output_dir` and for given arguments the working directory."""
        steps = key.split(".")
        prefixes = {".".join(steps[:i]) for i in range(1, len(steps) + 1)}
        return Path.cwd() if key == "output_dir" or prefixes & self.given else self.folder

    def path(self, key: str, value: str) -> Path:
        """The path that a key names, on its base. Raises `InputError` for what can be no path."""
        try:
            return self.base(key) / user_path(value)
        except InputError as error:
            raise InputError(f"{self.name}: key {key!r}: {error}") from None

    def find(self, key: str, value: str) -> Path:
        """The path that a key names, absolute. Raises `InputError` where there is nothing."""
        path = self.path(key, value).resolve()
        if key != "output_dir" and not path.exists():
            raise InputError(f"{self.name}: key {key!r}: no file or folder {path}")
        return path

    def resolve_paths(self, section: dict[str, Any], cls: type, prefix: str) -> None:
        """Make the values of `Path` fields absolute, in place."""
        for name, hint in typing.get_type_hints(cls).items():
            if isinstance(section.get(name), str) and Path in (hint, *typing.get_args(hint)):
                section[name] = str(self.find(prefix + name, section[name]))

    def model(self, model: str, key: str = "model") -> str:
        """A hub name as it is; a folder absolute, once it is known to hold a model or an adapter."""
        folder = self.path(key, model)
        if not model.startswith((".", "/", "~")) and not (folder / "config.json").is_file():
            if not _HUB_MODEL.fullmatch(model):
                raise InputError(f"{self.name}: key {key!r} is {model!r}: neither a folder nor owner/name")
            return model
        folder = self.find(key, model)
        if not any((folder / name).is_file() for name in ("config.json", "adapter_config.json")):
            raise InputError(f"{self.name}: key {key!r}: no config.json in {folder}: not a model")
        return str(folder)

    def task(self, section: dict[str, Any]) -> dict[str, Any]:
        """The `task:` section with the defaults of the suite or module that `use` names, its files found."""
        use, where = section.get("use"), f"{self.name}: task"
        options = {key: value for key, value in section.items() if key != "use"}
        if use in multi_hop_sources.USES:
            config_class = multi_hop_sources.config_class(use, where)
        else:
            config_class = sources.module(use, where, _TASKS).Config
        self.resolve_paths(options, config_class, "task.")
        if isinstance(options.get("hub"), str) and options["hub"].startswith((".", "/", "~")):
            options["hub"] = str(self.find("task.hub", options["hub"]))
        if use in _TASKS:  # their files are rows; a task of the user's may read a folder
            for key in _ROW_FILES:
                if isinstance(options.get(key), str) and Path(options[key]).is_dir():
                    raise InputError(
                        f"{self.name}: key 'task.{key}': {options[key]} is a folder; give a JSON-lines file"
                    )
        if use in multi_hop_sources.USES:
            config = multi_hop_sources.config_of({"use": use, **options}, where)
        else:
            config = build(config_class, options, where)
        return {"use": use, **plain(config)}

    def resolve_trainer_files(self, trainer: dict[str, Any]) -> None:
        """Make the configuration files that TRL reads absolute, in place."""
        for key in ("deepspeed", "fsdp_config", "accelerator_config"):
            if isinstance(trainer.get(key), str):
                trainer[key] = str(self.find(f"trainer.{key}", trainer[key]))
