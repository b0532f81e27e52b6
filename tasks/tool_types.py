"""Tools and calls as types: domains, parameters, schemas (arXiv 2511.08798, the objects of its section 3)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tasks.same_value import same as same

Json: TypeAlias = Any
"""Any JSON value; in a call's arguments also `UNKNOWN`."""

TypeName = Literal["string", "integer", "number", "boolean", "array", "object", "any"]


class Marker:
    """A named value that is none of JSON's; one object per name, compared by identity."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        # Pickles and copies by name, so that `is` holds in every process.
        return self.text.strip("<>").replace("UNK", "UNKNOWN")


UNKNOWN = Marker("<UNK>")
"""An argument that the conversation has not given; written `<UNK>` in text."""
MISSING = Marker("MISSING")
"""No default."""
MISMATCH = Marker("MISMATCH")
"""What `coerce` returns for a value that cannot be of the declared type."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The values that a parameter may take; `low` and `high` (both included) belong to `integer_range`.

    Where `nullable`, null may be given too; a finite domain lists it, elsewhere it does not count in `size`.
    """

    kind: Literal["finite", "boolean", "integer_range", "unbounded"]
    values: tuple[Json, ...] = ()
    low: int | None = None
    high: int | None = None
    nullable: bool = False

    @property
    def size(self) -> int | None:
        """The number of members; None where it is unbounded (arXiv 2511.08798: |D|)."""
        if self.kind == "finite":
            return len(self.values)
        if self.kind == "boolean":
            return 2
        if self.kind == "integer_range" and self.low is not None and self.high is not None:
            return max(0, self.high - self.low + 1)
        return None

    def contains(self, value: Json) -> bool:
        """Whether `value`, coerced beforehand, is a member."""
        if value is None and self.nullable:
            return True
        if self.kind == "finite":
            return any(same(value, member) for member in self.values)
        if self.kind == "boolean":
            return isinstance(value, bool)
        if self.kind == "integer_range":
            if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
                return False
            return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
        return True


UNBOUNDED = Domain("unbounded")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool, or the item or property of one.

    `items` describes the members of an array, `properties` those of an object; `constraints` holds keywords
    of JSON Schema that matter only to a reader of the prompt (format, pattern, minimum of a number, ...).
    """

    name: str
    type: TypeName
    domain: Domain = UNBOUNDED
    required: bool = False
    default: Json = MISSING
    description: str = ""
    items: "Parameter | None" = None
    properties: tuple["Parameter", ...] = ()
    constraints: Mapping[str, Json] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool; `source` is the JSON object that it was read from."""

    name: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    source: Mapping[str, Json] = field(default_factory=dict, compare=False, repr=False)
    required: tuple[str, ...] = field(init=False, compare=False, repr=False)
    _by_name: Mapping[str, Parameter] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Both are looked up for every completion that is scored.
        object.__setattr__(self, "required", tuple(p.name for p in self.parameters if p.required))
        object.__setattr__(self, "_by_name", {p.name: p for p in self.parameters})

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of this name, or None."""
        return self._by_name.get(name)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool's name and a partial assignment; an argument that is not known is absent or `UNKNOWN`."""

    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
