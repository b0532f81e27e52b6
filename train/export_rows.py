"""Training rows in TRL's conversational formats, as JSON lines and as Arrow columns."""

from json.encoder import encode_basestring_ascii as _quoted
from typing import TYPE_CHECKING, Any

from rollout.forks import Fork

if TYPE_CHECKING:
    import pyarrow

TURNS = {"imitation": ("completion",), "pairs": ("chosen", "rejected")}
"""What the assistant says in a row of each file."""

_THINKING_OFF = '"chat_template_kwargs": {"enable_thinking": false}'


class Rows:
    """Rows of one file, each both as a line and as values of columns. Their prompts are those of states."""

    def __init__(self, name: str) -> None:
        self.turns = TURNS[name]
        self.kinds = schema(name)
        self.lines: list[str] = []
        self._columns: dict[str, list[Any]] = {column: [] for column in self.kinds.names[:-1]}

    def add(self, prompt: str, said: tuple[str, ...], weight: float, lineage: dict[str, Any]) -> None:
        """A row of these turns. Keys and values come in the order of the schema."""
        parts = [f'{{"prompt": [{{"role": "user", "content": {_quoted(prompt)}}}]']
        for name, text in zip(self.turns, said, strict=True):
            parts.append(f'"{name}": [{{"role": "assistant", "content": {_quoted(text)}}}]')
            self._columns[name].append(text)
        for name, value in lineage.items():
            parts.append(f'"{name}": {_quoted(value) if isinstance(value, str) else value}')
            self._columns[name].append(value)
        self._columns["prompt"].append(prompt)
        self._columns["weight"].append(weight)
        parts.append(f'"weight": {weight}, {_THINKING_OFF}}}\n')
        self.lines.append(", ".join(parts))

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
    columns = ["prompt", *TURNS[name], "id", "kind", "suite", "task", "state", "policy", "seed", "turn"]
    columns += ["reason", "weight"] if name == "pairs" else ["weight"]
    thinking = pa.struct([("enable_thinking", pa.bool_())])
    return pa.schema(
        [
            *((column, kinds.get(column, pa.string())) for column in columns),
            ("chat_template_kwargs", thinking),
        ]
    )


def lineage(fork: Fork, name: str, kind: str) -> dict[str, Any]:
    """Where a row comes from."""
    return {
        "id": name, "kind": kind, "suite": fork.suite, "task": fork.task, "state": fork.state,
        "policy": fork.policy, "seed": fork.seed, "turn": fork.turn,
    }  # fmt: skip


def _messages(role: str, texts: list[str]) -> "pyarrow.ListArray":
    import pyarrow as pa

    roles = pa.repeat(pa.scalar(role), len(texts))
    turn = pa.StructArray.from_arrays([roles, pa.array(texts, pa.string())], ["role", "content"])
    return pa.ListArray.from_arrays(pa.array(range(len(texts) + 1), pa.int32()), turn)
