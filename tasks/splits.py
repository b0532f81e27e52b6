"""Which tasks train a policy, which choose one, and which it is measured on (arXiv 2609.37236)."""

import hashlib
import re
from typing import Literal

from tasks.errors import InputError

Split = Literal["train", "dev", "test"]

EVALUATION_ONLY = ("tau2", "frames", "composed")
"""Suites by the first word of their names; `composed` sets are made of test tasks."""


def split_of(suite: str, template: str) -> Split:
    """The split of a task: by its template's id, or by its own where it has none (`Gold.cluster`).

    The digest of both, modulo 100: 0-59 train, 60-74 dev, 75-99 test; suites for evaluation are test alone.
    """
    if evaluation_only(suite):
        return "test"
    spelled = f"{suite}\x1f{template}".encode("utf-8", errors="replace")
    place = int.from_bytes(hashlib.sha256(spelled).digest(), "big") % 100
    return "train" if place < 60 else "dev" if place < 75 else "test"


def evaluation_only(suite: str) -> bool:
    """Whether a suite must never be trained on."""
    return re.split(r"[\W_]", suite, maxsplit=1)[0] in EVALUATION_ONLY


def refuse(suite: str, split: str) -> None:
    """Raise InputError for a split that a suite must not be used for."""
    if split in ("train", "dev") and evaluation_only(suite):
        raise InputError(f"split: {split} of {suite}: it is for evaluation only; use split: test")
