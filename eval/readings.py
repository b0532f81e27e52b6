"""Every reading of a recorded episode, from the record and its graph alone (arXiv 2609.37236, section 5)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from eval.answers import score
from eval.need_metrics import Course, StopCounts, stop_counts
from rollout.episode import Episode
from tasks.multi_hop import Gold

METRICS = (
    "coverage", "depth_weighted_recall", "deepest", "breadth", "breadth_advanced", "breadth_all_nodes",
    "single_lines", "out_of_order", "timely", "latent_discovery", "repaired", "redundancy", "near_duplicates",
    "asks", "tokens", "question_tokens", "tokens_per_need", "answer_f1", "answer_em", "answer_contains",
    "answer_hedged", "answer_is_call", "answer_node_coverage",
)  # fmt: skip
"""The keys of a reading."""

SHARED, JACCARD = 4, 0.5
_WORD = re.compile(r"[^\W_]+")
_FUNCTION_WORDS = frozenset(
    "a an and are as at be been by did do does for from had has have how in is it its many much of on or "
    "that the their there this to was were what when where which who whom whose why will with".split()
)


@dataclass(frozen=True, slots=True)
class Read:
    """An episode beside what it is scored by."""

    episode: Episode
    gold: Gold
    course: Course

    @classmethod
    def of(cls, episode: Episode, gold: Gold) -> "Read":
        """Worked out once, to be read at any number of questions."""
        turns = [turn.retrieved for turn in episode.turns]
        return cls(episode, gold, Course(gold.graph, turns, episode.start))

    def at(self, asks: int | None = None) -> dict[str, float | None]:
        """All metrics after so many questions (default: at the run's own end).

        The answer and its tokens belong to the end: at a shorter prefix they are undefined, and tokens are
        those of the questions' turns.
        """
        course, episode = self.course, self.episode
        end = asks is None or asks >= course.asks
        k = course.asks if asks is None else min(asks, course.asks)
        tokens = episode.spent.total if end else sum(turn.spent.total for turn in episode.turns[:k])
        resolved = len(course.resolved(k))
        lines = self.gold.graph.lines
        found: dict[str, float | None] = {
            "coverage": course.coverage(k),
            "depth_weighted_recall": course.depth_weighted_recall(k),
            "deepest": course.deepest(k),
            "breadth": course.lines(k),
            "breadth_advanced": course.lines(k, advanced=True),
            "breadth_all_nodes": course.lines(k, optional=True),
            "single_lines": sum(len(line) == 1 for line in lines) / len(lines) if lines else None,
            "out_of_order": course.out_of_order(k),
            "timely": _share(course.timely(k)),
            "latent_discovery": _share(course.latent(k)),
            "repaired": _share(course.repairs(k)),
            "redundancy": course.redundancy(k),
            "near_duplicates": near_duplicates([turn.question for turn in episode.turns[:k]]),
            "asks": k,
            "tokens": tokens,
            "question_tokens": sum(turn.question_tokens for turn in episode.turns[:k]),
            "tokens_per_need": tokens / resolved if resolved else None,
        }
        return found | (self._answer() if end else dict.fromkeys(METRICS[len(found) :]))

    def stops(self) -> StopCounts:
        """The run's decisions to ask and to stop."""
        return stop_counts(self.course, self.episode.stop)

    def _answer(self) -> dict[str, float | None]:
        scored = score(self.episode.answer, self.gold)
        node = self.gold.answer_need
        turn = self.course.resolve_turns.get(node) if node is not None else None
        return {
            "answer_f1": scored.f1,
            "answer_em": scored.exact,
            "answer_contains": scored.contains,
            "answer_hedged": scored.hedged,
            "answer_is_call": scored.is_call,
            "answer_node_coverage": None if turn is None else float(turn < self.course.asks),
        }


def near_duplicates(questions: Sequence[str]) -> float | None:
    """The share of questions that say what an earlier one said.

    Their content words share four or more and half of all that both have.
    """
    if not questions:
        return None
    sets = [frozenset(_WORD.findall(question.casefold())) - _FUNCTION_WORDS for question in questions]
    repeated = sum(any(_alike(words, earlier) for earlier in sets[:i]) for i, words in enumerate(sets))
    return repeated / len(sets)


def _alike(a: frozenset[str], b: frozenset[str]) -> bool:
    shared = len(a & b)
    return shared >= SHARED and shared >= JACCARD * len(a | b)


def _share(counts: tuple[int, int]) -> float | None:
    return counts[0] / counts[1] if counts[1] else None
