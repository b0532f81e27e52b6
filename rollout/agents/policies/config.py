"""The `policy:` section of a recording: one dataclass for each `kind`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tasks.errors import InputError


@dataclass(frozen=True, slots=True)
class Prompted:
    """The roles as they are. A trained policy is the same with an adapter on the questioner."""

    kind: Literal["prompted"] = "prompted"


@dataclass(frozen=True, slots=True)
class DrafterOnly:
    """No questions: the drafter and the answerer alone."""

    kind: Literal["drafter_only"]


@dataclass(frozen=True, slots=True)
class SingleModel:
    """One agent that asks and reads paragraphs; nobody answers it or drafts."""

    kind: Literal["single_model"]


@dataclass(frozen=True, slots=True)
class EvidenceBlind:
    """The questioner sees the request and its own questions, neither evidence nor draft nor answers."""

    kind: Literal["evidence_blind"]


@dataclass(frozen=True, slots=True)
class CapAware:
    """The prompt says how many questions are left: the one policy that is not blind to its budget."""

    kind: Literal["cap_aware"]


@dataclass(frozen=True, slots=True)
class SelfAsk:
    """Follow-up questions and intermediate answers until a final answer (arXiv 2210.03350)."""

    kind: Literal["self_ask"]


@dataclass(frozen=True, slots=True)
class Ircot:
    """Each sentence of a chain of thought is the next query (arXiv 2212.10509)."""

    kind: Literal["ircot"]


@dataclass(frozen=True, slots=True)
class Par2Rag:
    """Broad queries by a plan, then queries one by one until the evidence suffices (arXiv 2603.29085)."""

    kind: Literal["par2_rag"]
    breadth: int = 3

    def __post_init__(self) -> None:
        _at_least_one("breadth", self.breadth)


@dataclass(frozen=True, slots=True)
class DepthOne:
    """All questions are listed from the request in one call, then asked in turn."""

    kind: Literal["depth_one"]
    n: int = 8

    def __post_init__(self) -> None:
        _at_least_one("n", self.n)


@dataclass(frozen=True, slots=True)
class QueryExpansion:
    """The request is put into other words in one call; each wording is a query."""

    kind: Literal["query_expansion"]
    n: int = 4

    def __post_init__(self) -> None:
        _at_least_one("n", self.n)


@dataclass(frozen=True, slots=True)
class Template:
    """The same facets of every request, whatever the state."""

    kind: Literal["template"]


@dataclass(frozen=True, slots=True)
class RandomQuestion:
    """Questions that were asked of other tasks, as many as the run in `records` asked of this one."""

    kind: Literal["random_question"]
    records: Path


@dataclass(frozen=True, slots=True)
class Replay:
    """The questions of a recorded run again, before the frozen roles of its policy.

    `records` is its run folder. Evidence and answers must come out the same.
    """

    kind: Literal["replay"]
    records: Path


@dataclass(frozen=True, slots=True)
class AnswerLength:
    """No questions; the drafter is told to be exhaustive."""

    kind: Literal["answer_length"]


@dataclass(frozen=True, slots=True)
class ComputeBudget:
    """No questions; answers are sampled for the tokens of the run in `records`: the most frequent counts."""

    kind: Literal["compute_budget"]
    records: Path


@dataclass(frozen=True, slots=True)
class GoldEvidence:
    """A ceiling: all evidence is in hand from the start."""

    kind: Literal["gold"]


@dataclass(frozen=True, slots=True)
class Oracle:
    """A ceiling: asks for the open needs of the graph in their own words, and stops when none is left."""

    kind: Literal["oracle"]


Config = (
    Prompted
    | DrafterOnly
    | SingleModel
    | EvidenceBlind
    | CapAware
    | SelfAsk
    | Ircot
    | Par2Rag
    | DepthOne
    | QueryExpansion
    | Template
    | RandomQuestion
    | Replay
    | AnswerLength
    | ComputeBudget
    | GoldEvidence
    | Oracle
)


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping with a policy in it, such as the manifest of a recording."""

    policy: Config


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise InputError(f"{name} is {value}; it must be at least 1")
