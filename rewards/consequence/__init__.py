"""Labels from consequences: what each decision led to, preference pairs and imitation rows."""

from rewards.consequence.decision import Decision, Worth, decisions, done_before
from rewards.consequence.imitation import Gate, Row, row, weights
from rewards.consequence.pairs import Pair, Rules, pairs

__all__ = [
    "Decision",
    "Gate",
    "Pair",
    "Row",
    "Rules",
    "Worth",
    "decisions",
    "done_before",
    "pairs",
    "row",
    "weights",
]
