"""BM25 by gensim's OkapiBM25Model, the other BM25 of published tables: whole words, without digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seal_ir.arguments import check_least
from seal_ir.arrays import Floats
from seal_ir.errors import UsageError
from seal_ir.formats.collections.collection import Collection
from seal_ir.records import Document, Hit, Query
from seal_ir.search.documents import contents

_BATCH = 64  # topics scored at a time: as many numbers a document


@dataclass(frozen=True, slots=True)
class GensimConfig:
    """How to search.

    Attributes:
        k1, b: BM25's parameters; gensim's defaults.
        epsilon: an inverse document frequency below 0 becomes this share of their mean.
        hits: documents per topic.
    """

    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25
    hits: int = 100

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_least(self, k1=0.0, b=0.0, epsilon=0.0, hits=1)
        if self.b > 1:
            raise UsageError(f"b is {self.b}; it must be at most 1")


@dataclass(frozen=True, slots=True)
class GensimIndex:
    """A collection ready to be searched.

    Attributes:
        docids: [n_documents], in the collection's order.
        dictionary: gensim's, of words to numbers.
        similarity: gensim's `SparseMatrixSimilarity`, which adds up the weights of a topic's words.
    """

    docids: NDArray[np.str_]
    dictionary: Any
    similarity: Any


class _Bags:
    """The documents of a collection as gensim's bags of words; each pass reads them anew."""

    def __init__(self, collection: Collection, dictionary: Any) -> None:
        self._collection, self._dictionary = collection, dictionary

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        return (self._dictionary.doc2bow(words(contents(document))) for document in self._collection)

    def __len__(self) -> int:
        return int(self._dictionary.num_docs)


def check_gensim() -> None:
    """Refuse to go on without gensim.

    Raises:
        UsageError: it is missing; says what to install.
    """
    try:
        import gensim  # noqa: F401
    except ImportError as error:
        raise UsageError(f"this baseline needs gensim ({error}); pip install 'seal-ir[gensim]'") from error


def words(text: str) -> list[str]:
    """The words of a text by gensim's `simple_preprocess`: letters only, in lower case, 2 to 15 of them."""
    from gensim.utils import simple_preprocess

    return list(simple_preprocess(text))


def build(collection: Collection, config: GensimConfig) -> GensimIndex:
    """The weights of a collection's words, in memory; title and text are one field.

    The collection is read twice; 8 bytes a document and word are kept.

    Raises:
        InputError: the collection cannot be read.
        UsageError: gensim is missing, or there are no documents.
    """
    check_gensim()
    from gensim.corpora import Dictionary
    from gensim.models import OkapiBM25Model
    from gensim.similarities import SparseMatrixSimilarity

    docids: list[str] = []
    dictionary = Dictionary(_noting(collection, docids), prune_at=None)
    if not docids:
        raise UsageError(f"no documents to search ({collection.counts})")
    model = OkapiBM25Model(dictionary=dictionary, k1=config.k1, b=config.b, epsilon=config.epsilon)
    similarity = SparseMatrixSimilarity(
        model[_Bags(collection, dictionary)],
        num_docs=len(docids),
        num_terms=len(dictionary),
        num_nnz=dictionary.num_nnz,
        normalize_queries=False,
        normalize_documents=False,
    )
    return GensimIndex(np.array(docids), dictionary, similarity)


def search(index: GensimIndex, topics: Sequence[Query], hits: int) -> Iterator[tuple[Query, list[Hit]]]:
    """Each topic, in order, with its hits, best first, equal ones by docid.

    A word counts once in a topic; a document that shares no word with it is no hit.
    """
    for at in range(0, len(topics), _BATCH):
        batch = topics[at : at + _BATCH]
        bags = [[(word, 1.0) for word, _ in index.dictionary.doc2bow(words(topic.text))] for topic in batch]
        for topic, scores in zip(batch, index.similarity[bags], strict=True):
            yield topic, _best(index.docids, scores, hits)


def _noting(collection: Collection, docids: list[str]) -> Iterator[list[str]]:
    """The words of each document; ids are added to the list on the way."""
    document: Document
    for document in collection:
        docids.append(document.id)
        yield words(contents(document))


def _best(docids: NDArray[np.str_], scores: Floats, k: int) -> list[Hit]:
    found = np.flatnonzero(scores)
    if len(found) > k:
        kth = np.partition(scores[found], len(found) - k)[len(found) - k]
        found = found[scores[found] >= kth]
    order = np.lexsort((docids[found], -scores[found]))[:k]
    return [Hit(str(docids[at]), float(scores[at])) for at in found[order]]
