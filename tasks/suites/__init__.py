"""Multi-hop question answering with need graphs: one loader a data set, its original format in, tasks out."""

from tasks.suites.frames import FRAMES
from tasks.suites.musique import MUSIQUE
from tasks.suites.strategyqa import STRATEGYQA
from tasks.suites.task import GraphTask, SkipRow, Suite
from tasks.suites.two_wiki import TWO_WIKI

SUITES: dict[str, Suite] = {suite.key: suite for suite in (MUSIQUE, STRATEGYQA, TWO_WIKI, FRAMES)}
"""By the names of the command line."""

__all__ = ["SUITES", "GraphTask", "SkipRow", "Suite"]
