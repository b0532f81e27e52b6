"""The miniature world: When2Call in two hundred words, so that a laptop can learn it in minutes.

Every row is in the format of the When2Call test file and goes through the same reader. A tool is a verb and a
noun with one to three random parameters (choice, number, free text; optional ones, booleans among them). The
verb-noun pairs of the test split never occur in training; schemas and values are drawn anew for every row.
Requests are paraphrased, classes balanced as in the real test data (arXiv 2504.18851). `label_noise` relabels
rows the way the public generator slips: an ask becomes a call whose missing value is invented, a call becomes
an ask for a value that was given.
"""

import hashlib
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tasks import when2call
from tasks.errors import InputError
from tasks.tool_task import TaskSet

VERBS = (
    "book order find send play check open rent cancel track plan share print move clean paint ship "
    "lock scan fix"
).split()
NOUNS = (
    "table taxi hotel song email parcel room ticket flight invoice garden camera report meal boat "
    "bike door lamp file photo shop train class game"
).split()
PARAMETERS = (
    "city date color size price title time count speed style food music level place owner team floor shape"
).split()
FLAGS = "outdoor quiet urgent shared".split()
WORDS = (
    "leeds paris red blue green thai italian jazz rock maria tom anna monday friday small large "
    "round square noon night north south silver gold apple lemon river hill tiger eagle oak pine "
    "velvet cotton alpha delta omega sigma"
).split()
NUMBERS = [str(n) for n in range(1, 21)]
GLUE = (
    "tool enum text number flag please i want to need can you a an the for me with is as my and it "
    "now could would like nothing no fits what which should use sorry cannot that do help done yes "
    "ok set skip"
).split()

_OPENINGS = (
    "please {v} a {n}",
    "i want to {v} a {n}",
    "can you {v} a {n} for me",
    "{v} a {n} now please",
    "i need to {v} my {n}",
    "could you please {v} the {n}",
)
_MENTIONS = ("{p} {x}", "with {p} {x}", "the {p} is {x}", "set the {p} to {x}")
_ASKS = ("what {p} should i use ?", "which {p} would you like ?", "can you please set the {p} ?")
_DECLINES = (
    "sorry , i cannot {v} a {n}",
    "sorry , i cannot help with that",
    "sorry , i cannot do that for you",
)
_BALANCE = (
    ("tool_call", 0.3546),
    ("request_for_info", 0.2908),
    ("cannot_answer", 0.3546),
)  # test split, 3,652 rows


@dataclass(frozen=True, slots=True)
class LabelNoise:
    """Shares of training rows that are relabelled (the test split is always clean)."""

    ask_as_call: float = 0.0
    """Share of ask rows labelled as a call with an invented value."""
    call_as_ask: float = 0.0
    """Share of call rows labelled as an ask for a value that stands in the request."""

    def __post_init__(self) -> None:
        for key in ("ask_as_call", "call_as_ask"):
            if not 0.0 <= getattr(self, key) <= 1.0:
                raise InputError(f"task.label_noise.{key}: {getattr(self, key)} is not a share; use 0 to 1")


@dataclass(frozen=True, slots=True)
class Config:
    """Keys of a recipe's `task:` section for `use: mini`."""

    train_rows: int = 4096
    test_rows: int = 512
    label_noise: LabelNoise = field(default_factory=LabelNoise)

    def __post_init__(self) -> None:
        for key in ("train_rows", "test_rows"):
            if getattr(self, key) < 1:
                raise InputError(f"task.{key}: {getattr(self, key)} rows; use at least 1")


Row = dict[str, Any]


def load(config: Config, split: Literal["train", "test"], seed: int) -> TaskSet:
    """Generate a split: a pure function of (config, split, seed); test rows do not depend on the noise."""
    rows = generate(config.train_rows if split == "train" else config.test_rows, split, seed)
    counts: Counter[str] = Counter(kept=len(rows))
    if split == "train":
        noise = random.Random(f"mini/noise/{seed}")
        rows = [_relabel(row, config.label_noise, noise, counts) for row in rows]
    digest = hashlib.sha256("\n".join(json.dumps(row, sort_keys=True) for row in rows).encode()).hexdigest()
    tasks = tuple(when2call.parse_row(row, f"mini {split} row {i}") for i, row in enumerate(rows, 1))
    return TaskSet(tasks, dict(counts), {f"mini/{split}": digest})


def generate(n: int, split: Literal["train", "test"], seed: int) -> list[Row]:
    """`n` clean rows in When2Call's test format (`answers` holds the gold text of each class)."""
    rng = random.Random(f"mini/{split}/{seed}")
    pairs = _pairs(split)
    return [_row(rng, pairs, f"mini-{split}-{seed}-{i}") for i in range(n)]


def _pairs(split: str) -> list[tuple[str, str]]:
    """A fixed third of all (verb, noun) pairs is kept for the test split, whatever the seed."""
    pairs = [(verb, noun) for verb in VERBS for noun in NOUNS]
    random.Random("mini/pairs").shuffle(pairs)
    cut = len(pairs) // 3
    return pairs[:cut] if split == "test" else pairs[cut:]


def _tool(rng: random.Random, verb: str, noun: str) -> Row:
    properties: Row = {}
    names = rng.sample(PARAMETERS, rng.choice((1, 2, 2, 3)))
    required = [name for i, name in enumerate(names) if i == 0 or rng.random() < 0.75]
    for name in sorted(names, key=lambda name: name not in required):
        kind = rng.choice(("enum", "number", "text"))
        if kind == "enum":
            spec: Row = {"type": "string", "enum": rng.sample(WORDS, rng.choice((2, 3, 4)))}
        else:
            spec = {"type": "integer" if kind == "number" else "string"}
        properties[name] = {**spec, "description": name}
    if rng.random() < 0.25:
        flag = rng.choice(FLAGS)
        properties[flag] = {"type": "boolean", "description": flag}
    return {
        "name": f"{verb}_{noun}",
        "description": f"{verb} a {noun}",
        "parameters": {"type": "dict", "properties": properties, "required": required},
    }


def invent(rng: random.Random, spec: Row) -> Any:
    """A random value that fits a parameter's schema."""
    if spec["type"] == "boolean":
        return rng.random() < 0.5
    if spec["type"] == "integer":
        return int(rng.choice(NUMBERS))
    if "enum" in spec:
        return rng.choice(spec["enum"])
    return " ".join(rng.sample(WORDS, rng.choice((1, 1, 2))))


def _spoken(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _row(rng: random.Random, pairs: Sequence[tuple[str, str]], identity: str) -> Row:
    gold = rng.choices([name for name, _ in _BALANCE], [share for _, share in _BALANCE])[0]
    (verb, noun), *others = rng.sample(pairs, 3)
    tool = _tool(rng, verb, noun)
    properties, required = tool["parameters"]["properties"], tool["parameters"]["required"]
    given = {p: invent(rng, spec) for p, spec in properties.items() if p in required or rng.random() < 0.4}
    opening = rng.choice(_OPENINGS).format(v=verb, n=noun)
    mentions = [(p, rng.choice(_MENTIONS).format(p=p, x=_spoken(x))) for p, x in given.items()]
    rng.shuffle(mentions)
    held_out = rng.choice(required)
    said = {p: text for p, text in mentions if gold != "request_for_info" or p != held_out}
    call = {p: x for p, x in given.items() if p in said}
    invented = {p: x if p in said else invent(rng, properties[p]) for p, x in given.items()}
    distractors = [
        _tool(rng, *pair)
        for pair in others[: rng.choice((0, 1)) if gold != "cannot_answer" else rng.choice((0, 1, 1, 2))]
    ]
    tools = distractors if gold == "cannot_answer" else [tool, *distractors]
    rng.shuffle(tools)
    row: Row = {
        "uuid": identity,
        "source": "mini",
        "source_id": identity,
        "question": " ".join([opening, *said.values()]),
        "correct_answer": gold,
        "answers": {
            "direct": f"ok , the {noun} is done",
            "tool_call": json.dumps({"name": tool["name"], "arguments": invented}),
            "request_for_info": rng.choice(_ASKS).format(p=held_out),
            "cannot_answer": rng.choice(_DECLINES).format(v=verb, n=noun),
        },
        "target_tool": None if gold == "cannot_answer" else json.dumps(tool),
        "tools": [json.dumps(t) for t in tools],
    }
    if gold == "request_for_info":
        row |= {
            "held_out_param": held_out,
            "orig_question": " ".join([opening, *(text for _, text in mentions)]),
        }
    if gold == "cannot_answer":
        row["orig_tools"] = [json.dumps(tool), *row["tools"]]
    assert gold == "request_for_info" or call == invented
    return row


def _relabel(row: Row, noise: LabelNoise, rng: random.Random, counts: Counter[str]) -> Row:
    draw = rng.random()
    if row["correct_answer"] == "request_for_info" and draw < noise.ask_as_call:
        counts["noise_ask_as_call"] += 1
        kept = {k: v for k, v in row.items() if k not in ("held_out_param", "orig_question")}
        return {**kept, "correct_answer": "tool_call"}
    if row["correct_answer"] == "tool_call" and draw < noise.call_as_ask:
        counts["noise_call_as_ask"] += 1
        tool = json.loads(row["target_tool"])
        held_out = rng.choice(tool["parameters"]["required"])
        answers = {**row["answers"], "request_for_info": rng.choice(_ASKS).format(p=held_out)}
        noisy = {
            "correct_answer": "request_for_info",
            "held_out_param": held_out,
            "orig_question": row["question"],
        }
        return {**row, "answers": answers, **noisy}
    return row
