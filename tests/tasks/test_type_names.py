import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.type_names import NamedType, is_null, read_type


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("str", NamedType("string")),
        ("String", NamedType("string")),
        ("float", NamedType("number")),
        ("dict", NamedType("object")),
        ("any", NamedType("any")),
        ("str, optional", NamedType("string", optional=True)),
        ("int, default is 3", NamedType("integer", optional=True)),
        ("List[float]", NamedType("array", "float")),
        ("typing.List[Dict[str, int]]", NamedType("array", "Dict[str, int]")),
        ("List[int], optional", NamedType("array", "int", optional=True)),
        ("Tuple[int, int]", NamedType("array")),
        ("Tuple[int, ...]", NamedType("array", "int")),
        ("Dict[str, float]", NamedType("object")),
        ("Optional[List[str]]", NamedType("array", "str", True, True)),
        ("int | None", NamedType("integer", "", True, True)),
        ("Union[str, None]", NamedType("string", "", True, True)),
        ("Union[int, str]", NamedType("any")),
        ("int | str | null", NamedType("any", "", True, True)),
        ("Callable[[float], float]", NamedType("any")),
        ("np.ndarray", NamedType("any")),
        ("list[", NamedType("array")),
        ("", NamedType("any")),
    ],
)
def test_names(text: str, expected: NamedType) -> None:
    assert read_type(text) == expected


def test_null_names() -> None:
    assert [is_null(name) for name in ("null", "None", " NoneType ", "nil", None, 3)] == [True] * 3 + [
        False
    ] * 3


@given(st.text(st.sampled_from("int[],| .Noeuostrdc()LU")))
def test_any_text_is_some_type(text: str) -> None:
    assert read_type(text).type in ("string", "integer", "number", "boolean", "array", "object", "any")
