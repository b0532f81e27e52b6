"""Generators: token ids in, token ids with log-probabilities and a stop reason out, in order.

Nothing outside this package knows which one runs. `build` makes the one that a recipe's `generator:` section
names; docs/generators.md says which to choose.
"""

from rollout.generators.build import build
from rollout.generators.config import Config, Needs, Scripted, Transformers, Vllm, VllmServer
from rollout.generators.protocol import (
    FollowsPolicy,
    Generation,
    GenerationError,
    Generator,
    Item,
    Request,
    Sampling,
    StopReason,
)

__all__ = [
    "Config",
    "FollowsPolicy",
    "Generation",
    "GenerationError",
    "Generator",
    "Item",
    "Needs",
    "Request",
    "Sampling",
    "Scripted",
    "StopReason",
    "Transformers",
    "Vllm",
    "VllmServer",
    "build",
]
