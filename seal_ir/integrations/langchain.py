"""`SealRetriever` for LangChain; needs `pip install 'seal-ir[langchain]'`."""

from __future__ import annotations

from typing import Any

from seal_ir.index.filters import Allowed, Filter
from seal_ir.integrations.missing import needing
from seal_ir.integrations.searchers import Searched, passage, searcher_of
from seal_ir.search.searcher import SealSearcher

with needing("LangChain", "langchain"):
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import run_in_executor


class SealRetriever(BaseRetriever):
    """Retrieves passages with SEAL. It is a runnable: `invoke`, `batch`, `ainvoke`, and in chains.

    A document has the passage's text, without its title, as `page_content`, the collection's id as `id`, and
    docid, title, score, rank and the passage's further fields as `metadata`. What `invoke` takes further, `k`
    and `filter`, holds for one call. It may be used from several threads.

    Attributes:
        searcher: what searches.
        k: documents to retrieve.
    """

    searcher: SealSearcher
    k: int = 10

    @classmethod
    def from_index(cls, index: Searched, k: int = 10, **options: Any) -> SealRetriever:
        """A retriever on an index by directory or registered name; `options` as for a `SealSearcher`.

        Raises:
            SealError: there is no such index, or an option is wrong.
        """
        return cls(searcher=searcher_of(index, options), k=k)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: object,
        k: int | None = None,
        filter: Filter | Allowed | None = None,  # noqa: A002 - as the searcher has it
    ) -> list[Document]:
        hits = self.searcher.search(query, self.k if k is None else k, filter=filter)
        found = [passage(hit, rank) for rank, hit in enumerate(hits, start=1)]
        return [Document(id=item.docid, page_content=item.text, metadata=item.metadata) for item in found]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: Any, **options: Any
    ) -> list[Document]:
        found: list[Document] = await run_in_executor(
            None, self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **options
        )
        return found
