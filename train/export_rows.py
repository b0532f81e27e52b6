"""Training rows in TRL's conversational formats, as JSON lines and as Arrow columns."""

from collections.abc import Callable
from json.encoder import encode_basestring_ascii as _quoted
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

TURNS = {"imitation": ("completion",), "pairs": ("chosen", "rejected")}
"""What the assistant says in a row of each file."""


LINEAGE = ("suite", "task", "state", "policy", "seed", "turn")
"""Where a row comes from; its values are given in this order."""

Lineage = tuple[str, str, str, str, int, int]


class Rows:
    """Rows of one file, each both as a line and as values of columns."""

    def __init__(self, name: str) -> None:
        self.turns = TURNS[name]
        self.kinds = schema(name)
        self.lines: list[str] = []
        self._columns: dict[str, list[Any]] = {column: [] for column in self.kinds.names[:-1]}

    def of_state(
        self, prompt: str, lineage: Lineage
    ) -> Callable[[tuple[str, ...], str, str, str, float], None]:
        """A function that adds rows of one state: (turns, id, kind, reason, weight)."""
        columns, names = self._columns, self.turns
        head = f'{{"prompt": [{{"role": "user", "content": {_quoted(prompt)}}}], '
        origin = ", ".join(
            f'"{name}": {_quoted(value) if isinstance(value, str) else value}'
            for name, value in zip(LINEAGE, lineage, strict=True)
        )
        tail = f'{origin}, "chat_template_kwargs": {{"enable_thinking": false}}}}\n'
        explained = "reason" in columns

        def add(said: tuple[str, ...], name: str, kind: str, reason: str, weight: float) -> None:
            turns = ", ".join(
                f'"{turn}": [{{"role": "assistant", "content": {_quoted(text)}}}]'
                for turn, text in zip(names, said, strict=True)
            )
            why = f', "reason": "{reason}"' if explained else ""
            self.lines.append(
                f'{head}{turns}, "id": "{name}", "kind": "{kind}"{why}, "weight": {weight}, {tail}'
            )
            for turn, text in zip(names, said, strict=True):
                columns[turn].append(text)
            values = {"prompt": prompt, "id": name, "kind": kind, "weight": weight}
            for column, value in values.items():
                columns[column].append(value)
            if explained:
                columns["reason"].append(reason)
            for column, origin_value in zip(LINEAGE, lineage, strict=True):
                columns[column].append(origin_value)

        return add

    def batch(self) -> "pyarrow.RecordBatch":
        """All rows."""
        import pyarrow as pa

        said = {"prompt": "user", **dict.fromkeys(self.turns, "assistant")}
        columns = [
            _messages(said[name], values) if name in said else pa.array(values, self.kinds.field(name).type)
            for name, values in self._columns.items()
        ]
        off = pa.repeat(pa.scalar(False), len(self.lines))
        thinking = pa.StructArray.from_arrays([off], ["enable_thinking"])
        return pa.RecordBatch.from_arrays([*columns, thinking], schema=self.kinds)


def schema(name: str) -> "pyarrow.Schema":
    """Of the rows of a file."""
    import pyarrow as pa

    message = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
    kinds = {"seed": pa.int64(), "turn": pa.int32(), "weight": pa.float64()}
    kinds |= dict.fromkeys(("prompt", *TURNS[name]), message)
    reason = ["reason"] if name == "pairs" else []
    columns = ["prompt", *TURNS[name], "id", "kind", *reason, "weight", *LINEAGE]
    thinking = pa.struct([("enable_thinking", pa.bool_())])
    return pa.schema(
        [
            *((column, kinds.get(column, pa.string())) for column in columns),
            ("chat_template_kwargs", thinking),
        ]
    )


def _messages(role: str, texts: list[str]) -> "pyarrow.ListArray":
    import pyarrow as pa

    roles = pa.repeat(pa.scalar(role), len(texts))
    turn = pa.StructArray.from_arrays([roles, pa.array(texts, pa.string())], ["role", "content"])
    return pa.ListArray.from_arrays(pa.array(range(len(texts) + 1), pa.int32()), turn)
