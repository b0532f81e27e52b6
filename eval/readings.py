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
    "asks", "question_tokens", "answer_node_coverage", "tokens", "tokens_per_need", "answer_f1", "answer_em",
    "answer_contains", "answer_hedged", "answer_is_call",
)  # fmt: skip
"""The keys of a reading."""
OF_THE_END = METRICS[METRICS.index("tokens") :]
"""Those of a whole run alone: a shorter prefix has no answer, and no share of the tokens of its end."""

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
        """All metrics after so many questions (default: at the run's own end); see `OF_THE_END`."""
        course = self.course
        k = course.asks if asks is None else min(asks, course.asks)
        questions = self.episode.turns[:k]
        lines, node = self.gold.graph.lines, course.resolve_turns.get(self.gold.answer_need or "")
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
            "near_duplicates": near_duplicates([turn.question for turn in questions]),
            "asks": k,
            "question_tokens": sum(turn.question_tokens for turn in questions),
            "answer_node_coverage": None if node is None else float(node < k),
        }
        return found | (self._end() if k == course.asks else dict.fromkeys(OF_THE_END))

    def stops(self) -> StopCounts:
        """The run's decisions to ask and to stop."""
        return stop_counts(self.course, self.episode.stop)

    def _end(self) -> dict[str, float | None]:
        tokens, needs = self.episode.spent.total, len(self.course.resolved(self.course.asks))
        scored = score(self.episode.answer, self.gold)
        return {
            "tokens": tokens,
            "tokens_per_need": tokens / needs if needs else None,
            "answer_f1": scored.f1,
            "answer_em": scored.exact,
            "answer_contains": scored.contains,
            "answer_hedged": scored.hedged,
            "answer_is_call": scored.is_call,
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
