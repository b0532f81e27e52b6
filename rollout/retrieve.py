"""BM25 over a task's own pool of paragraphs (arXiv 2609.37236; rank-bm25 does the counting)."""

import functools
import re
from collections.abc import Mapping
from typing import Any

from tasks.need_graph import Uid

K1, B = 1.2, 0.75


def words(text: str) -> list[str]:
    """Runs of `[a-z0-9]` in lower case; no stemming, no stop words."""
    return re.findall(r"[a-z0-9]+", text.lower())


class Retriever:
    """An index of paragraphs (title and text as one) by id."""

    def __init__(self, paragraphs: Mapping[Any, str]) -> None:
        self.uids: list[Uid] = sorted(paragraphs)
        documents = [words(paragraphs[uid]) for uid in self.uids]
        self._index = _bm25()(documents, k1=K1, b=B) if any(documents) else None

    def retrieve(self, query: str, k: int) -> list[Uid]:
        """At most `k` ids, the best first, of equals the lowest; what shares no word is not returned."""
        scores = self.scores(query)
        found = [place for place, score in enumerate(scores) if score > 0.0]
        return [self.uids[place] for place in sorted(found, key=lambda place: (-scores[place], place))[:k]]

    def scores(self, query: str) -> list[float]:
        """Of each paragraph, in the order of `uids`; a word counts as often as the query holds it."""
        if self._index is None:
            return [0.0] * len(self.uids)
        return [float(score) for score in self._index.get_scores(words(query))]


@functools.cache
def _bm25() -> Any:
    import math

    from rank_bm25 import BM25Okapi

    class Smoothed(BM25Okapi):
        """The textbook's idf is negative for a word that most of twenty documents hold; this one is not."""

        def _calc_idf(self, nd: dict[str, int]) -> None:
            for word, count in nd.items():
                self.idf[word] = math.log1p((self.corpus_size - count + 0.5) / (count + 0.5))

    return Smoothed
