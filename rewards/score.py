"""What one reward says about one completion."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Score:
    """A value (None: the reward does not apply), the numbers behind it, and why in one short phrase."""

    value: float | None
    parts: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
