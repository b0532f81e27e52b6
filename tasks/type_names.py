"""Names of types as tool schemas write them: of JSON Schema, Python, Java, with remarks like "optional"."""

from dataclasses import dataclass

from tasks.tool_types import TypeName

_NAMES: dict[TypeName, str] = {
    "string": "string str text char character date datetime time uuid uri enum",
    "integer": "integer int long short byte int32 int64",
    "number": "number float double decimal",
    "boolean": "boolean bool",
    "array": "array list tuple set sequence iterable arraylist",
    "object": "object dict dictionary map mapping hashmap struct",
}
# What is not listed is "any": data sets write "np.ndarray" and "Callable[[float], float]", and no value can
# be held against those.
_TYPES: dict[str, TypeName] = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_NULLS = ("null", "none", "nonetype")


@dataclass(frozen=True, slots=True)
class NamedType:
    """A type's name, read; `member` is the name of an array's member type, "" where none is given."""

    type: TypeName
    member: str = ""
    optional: bool = False
    nullable: bool = False


def is_null(name: object) -> bool:
    """Whether this is a name of the null type."""
    return isinstance(name, str) and name.strip().lower() in _NULLS


def read_type(text: str) -> NamedType:
    """Read a type's name.

    "str, optional" is an optional string, "List[float]" an array of numbers, "Optional[int]" and "int | None"
    an optional integer that may be null, "Dict[str, int]" an object, "Union[int, str]" anything.
    """
    name, *remarks = _split(text, ",")
    optional = any(remark.strip().lower().startswith(("optional", "default")) for remark in remarks)
    outer, _, inside = name.strip().partition("[")
    outer, inside = outer.strip().lower().rpartition(".")[2], inside.strip().removesuffix("]")
    alternatives = _split(name, "|")
    if inside and outer == "union":
        alternatives = _split(inside, ",")
    elif inside and outer == "optional":
        alternatives = [inside, "None"]
    if len(alternatives) > 1:
        solid = [alternative.strip() for alternative in alternatives if not is_null(alternative)]
        nullable = len(solid) < len(alternatives)
        one = read_type(solid[0]) if len(solid) == 1 else NamedType("any")
        return NamedType(one.type, one.member, optional or nullable, nullable)
    kind = _TYPES.get(outer, "any")
    members = _split(inside, ",") if inside and kind == "array" else []
    uniform = len(members) == 1 or (len(members) == 2 and members[1].strip() == "...")
    return NamedType(kind, members[0].strip() if uniform else "", optional)


def _split(text: str, mark: str) -> list[str]:
    """Split at the marks that stand outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
