"""`SealRetriever` for PyTerrier; needs `pip install 'seal-ir[pyterrier]'`, and no Java."""

from __future__ import annotations

from copy import copy
from typing import Any

from seal_ir.arguments import whole
from seal_ir.index.filters import Allowed, Filter
from seal_ir.integrations.missing import needing
from seal_ir.integrations.searchers import Searched, passage, searcher_of

with needing("PyTerrier", "pyterrier"):
    import pandas as pd
    import pyterrier as pt

_TEXTS = ("title", "text")


class SealRetriever(pt.Transformer):
    """A transformer from queries to ranked documents: for `pt.Experiment`, and with all operators.

    Of a frame with `qid` and `query` it makes one with docno, score, rank (from 0) and, with `text`, title
    and text. Columns that belong to queries are kept, those of documents replaced. `% k` retrieves no more
    than k.

    Attributes:
        searcher: what searches.
        num_results: documents to retrieve of each query.
        text: whether titles and texts are columns, for rerankers.
    """

    def __init__(
        self,
        index: Searched,
        num_results: int = 100,
        *,
        text: bool = False,
        filter: Filter | Allowed | None = None,  # noqa: A002 - as the searcher has it
        threads: int = 1,
        **options: Any,
    ) -> None:
        """A retriever.

        Args:
            index: a `SealSearcher`, an index directory or a registered name.
            num_results: documents to retrieve of each query.
            text: add the columns title and text.
            filter: search within these documents only; see `SealSearcher.search`.
            threads: threads that rank.
            **options: of a new searcher.

        Raises:
            SealError: there is no such index, or an option is wrong.
        """
        super().__init__()
        self.num_results = whole(num_results, "num_results", 1)
        self.searcher = searcher_of(index, options)
        self.text = text
        self._filter, self._threads = filter, threads

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The ranked documents of all queries, in the order of the queries, best first.

        Raises:
            SealError: see `SealSearcher.batch_search`.
        """
        pt.validate.columns(inp, includes=["qid", "query"], context=self)
        kept = self._kept(list(inp.columns))
        queries = inp[kept].drop_duplicates("qid")
        rows = []
        asked = list(queries["query"]), [str(qid) for qid in queries["qid"]]
        found = self.searcher.batch_search(
            *asked, k=self.num_results, threads=self._threads, filter=self._filter
        )
        for values, hits in zip(queries.itertuples(index=False, name=None), found.values(), strict=True):
            for rank, hit in enumerate(hits, start=pt.model.FIRST_RANK):
                texts = passage(hit, rank)[1:3] if self.text else ()
                rows.append((*values, hit.docid, hit.score, rank, *texts))
        return pd.DataFrame(rows, columns=self.transform_outputs(list(inp.columns)))

    def transform_outputs(self, input_columns: list[str]) -> list[str]:
        """The columns that frames with these columns become."""
        made = ["docno", "score", "rank", *(_TEXTS if self.text else ())]
        return [*self._kept(input_columns), *made]

    def fuse_rank_cutoff(self, k: int) -> SealRetriever:
        """Itself with no more than k results: what `pipeline % k` compiles to."""
        if k >= self.num_results:
            return self
        other = copy(self)
        other.num_results = whole(k, "k", 1)
        return other

    def _kept(self, columns: list[str]) -> list[str]:
        known = pt.model.query_columns(pd.DataFrame(columns=columns))
        return [name for name in columns if name in known]

    def __repr__(self) -> str:
        return f"SealRetriever({self.searcher.index_dir!r}, {self.num_results})"
