"""The role sections of a recipe: one dataclass for each `kind`. Imports no engine."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rollout import generators
from rollout.generators import Sampling
from tasks.errors import InputError


@dataclass(frozen=True, slots=True)
class ModelRole:
    """A role that a model plays. Roles of one model, adapter and generator share an engine."""

    model: str
    """A folder (a model, or an adapter that names its base) or a hub name."""
    kind: Literal["model"] = "model"
    adapter: Path | None = None
    generator: generators.Config = field(default_factory=generators.Transformers)
    max_new_tokens: int | None = None
    """Of one text; by default 400 for a move, 300 for an answer to the questioner, 700 for the others."""
    thinking_factor: int = 1
    """Multiplies the limit, for models that count their thoughts against it; 3 suits GPT-OSS."""
    temperature: float = 0.0
    constrained: bool = False
    """Keep a questioner to the two moves, where its engine can (vLLM): small models need it."""

    def __post_init__(self) -> None:
        Sampling(1 if self.max_new_tokens is None else self.max_new_tokens, self.temperature)
        if self.thinking_factor < 1:
            raise InputError(f"thinking_factor is {self.thinking_factor}; it must be at least 1")


@dataclass(frozen=True, slots=True)
class MiniRole:
    """A scripted role of the miniature worlds, see `rollout.agents.mini`."""

    kind: Literal["mini"]
    slip: float = 0.0
    """Of a questioner: the share of moves in which it asks beside the point, or stops too early."""
    eager: float = 0.0
    """Of a questioner: the share of moves in which it asks on where it should stop."""

    def __post_init__(self) -> None:
        for key in ("slip", "eager"):
            if not 0.0 <= getattr(self, key) <= 1.0:
                raise InputError(f"{key} is {getattr(self, key):g}, not a share; use 0 to 1")


Role = ModelRole | MiniRole
