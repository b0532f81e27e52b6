"""Multi-hop question answering with need graphs: one loader a data set, its original format in, tasks out."""

from tasks.suites.musique import MUSIQUE
from tasks.suites.strategyqa import STRATEGYQA
from tasks.suites.task import GraphTask, SkipRow, Suite
from tasks.suites.two_wiki import TWO_WIKI

SUITES: dict[str, Suite] = {"musique": MUSIQUE, "strategyqa": STRATEGYQA, "2wiki": TWO_WIKI}
"""By the names of the command line."""

__all__ = ["SUITES", "GraphTask", "SkipRow", "Suite"]
