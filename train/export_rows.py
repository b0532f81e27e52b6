"""Training rows in TRL's conversational formats, as JSON lines and as Arrow."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rewards.consequence import Pair, Row
from rollout.forks import Fork
from tasks.move import spell

if TYPE_CHECKING:
    import pyarrow

TURNS = {"imitation": ("completion",), "pairs": ("chosen", "rejected")}
"""What the assistant says in a row of each file."""

Plain = dict[str, Any]
"""A row whose prompt and turns are plain texts; on disk each is a list of one message."""


def imitation(fork: Fork, row: Row) -> Plain:
    """An imitation row. Its weight is known only once all rows have been counted."""
    return {"prompt": fork.prompt, "completion": row.target, **_lineage(fork, row.id, row.kind)}


def pair(fork: Fork, found: Pair) -> Plain:
    """A preference pair."""
    return {
        "prompt": fork.prompt,
        "chosen": spell(found.chosen.move),
        "rejected": spell(found.rejected.move),
        **_lineage(fork, found.id, found.kind),
        "reason": found.reason,
        "weight": 1.0,
    }


def _lineage(fork: Fork, name: str, kind: str) -> Plain:
    return {
        "id": name, "suite": fork.suite, "task": fork.task, "kind": kind, "state": fork.state,
        "policy": fork.policy, "seed": fork.seed, "turn": fork.turn,
    }  # fmt: skip


def to_json(rows: Sequence[Plain], turns: Sequence[str]) -> bytes:
    """The rows as JSON lines."""
    roles = {"prompt": "user", **dict.fromkeys(turns, "assistant")}
    lines = []
    for row in rows:
        said = {name: [{"role": role, "content": row[name]}] for name, role in roles.items()}
        lines.append(json.dumps({**row, **said, "chat_template_kwargs": {"enable_thinking": False}}))
    return "".join(f"{line}\n" for line in lines).encode()


def schema(turns: Sequence[str]) -> "pyarrow.Schema":
    """Of the rows whose turns these are."""
    import pyarrow as pa

    message = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
    numbers = {"seed": pa.int64(), "turn": pa.int32(), "weight": pa.float64()}
    names = ["prompt", *turns, "id", "suite", "task", "kind", "state", "policy", "seed", "turn"]
    names += ["reason", "weight"] if "chosen" in turns else ["weight"]
    messages = dict.fromkeys(("prompt", *turns), message)
    fields = [(name, messages.get(name) or numbers.get(name) or pa.string()) for name in names]
    return pa.schema([*fields, ("chat_template_kwargs", pa.struct([("enable_thinking", pa.bool_())]))])


def to_arrow(rows: Sequence[Plain], turns: Sequence[str]) -> "pyarrow.RecordBatch":
    """The rows as an Arrow batch."""
    import pyarrow as pa

    kinds = schema(turns)
    columns: list[Any] = []
    for name in kinds.names[:-1]:
        values = [row[name] for row in rows]
        if name == "prompt" or name in turns:
            columns.append(_messages("user" if name == "prompt" else "assistant", values))
        else:
            columns.append(pa.array(values, kinds.field(name).type))
    off = pa.repeat(pa.scalar(False), len(rows))
    columns.append(pa.StructArray.from_arrays([off], ["enable_thinking"]))
    return pa.RecordBatch.from_arrays(columns, schema=kinds)


def _messages(role: str, texts: Sequence[str]) -> "pyarrow.ListArray":
    import pyarrow as pa

    roles = pa.repeat(pa.scalar(role), len(texts))
    turn = pa.StructArray.from_arrays([roles, pa.array(texts, pa.string())], ["role", "content"])
    return pa.ListArray.from_arrays(pa.array(range(len(texts) + 1), pa.int32()), turn)
