"""`SealRetriever` for LlamaIndex; needs `pip install 'seal-ir[llama-index]'`."""

from __future__ import annotations

import asyncio
from typing import Any

from seal_ir.arguments import whole
from seal_ir.index.filters import Allowed, Filter
from seal_ir.integrations.missing import needing
from seal_ir.integrations.searchers import Searched, passage, searcher_of

with needing("LlamaIndex", "llama-index"):
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode


class SealRetriever(BaseRetriever):
    """Retrieves passages with SEAL, for query engines and fusion retrievers; `retrieve` and `aretrieve`.

    A node is a `TextNode` with the collection's id, the passage's text without its title, and as metadata
    docid, title, score, rank and the passage's further fields. Models see the title only. It may be used
    from several threads.

    Attributes:
        searcher: what searches.
        similarity_top_k: nodes to retrieve.
    """

    def __init__(
        self,
        index: Searched,
        similarity_top_k: int = 10,
        *,
        filter: Filter | Allowed | None = None,  # noqa: A002 - as the searcher has it
        callback_manager: Any = None,
        **options: Any,
    ) -> None:
        """A retriever.

        Args:
            index: a `SealSearcher`, an index directory or a registered name.
            similarity_top_k: nodes to retrieve.
            filter: search within these documents only; see `SealSearcher.search`.
            callback_manager: LlamaIndex's.
            **options: of a new searcher.

        Raises:
            SealError: there is no such index, or an option is wrong.
        """
        self.similarity_top_k = whole(similarity_top_k, "similarity_top_k", 1)
        self.searcher = searcher_of(index, options)
        self._filter = filter
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self.searcher.search(query_bundle.query_str, self.similarity_top_k, filter=self._filter)
        nodes = []
        for rank, hit in enumerate(hits, start=1):
            found = passage(hit, rank)
            unread = [name for name in found.metadata if name != "title" or not found.title]
            node = TextNode(
                id_=found.docid,
                text=found.text,
                metadata=found.metadata,
                excluded_llm_metadata_keys=unread,
                excluded_embed_metadata_keys=unread,
            )
            nodes.append(NodeWithScore(node=node, score=hit.score))
        return nodes

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
