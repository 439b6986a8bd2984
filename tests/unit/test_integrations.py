"""Retrievers for other toolkits, with the toolkits themselves: what they give is what the searcher gives."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from seal_ir.errors import ArgumentError, UsageError
from seal_ir.records import Document
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny

pytestmark = pytest.mark.slow  # the toolkits take seconds to import
QUERY, OTHER = "the capital of France", "a whale is a mammal"
WORDS = [tiny.DOCUMENTS[0]._replace(further=(("tags", "city"), ("tags", "river"), ("year", "1900")))]
MODULES = {"pyterrier": "pyterrier", "langchain": "langchain_core", "llama_index": "llama_index"}
EXTRAS = {"pyterrier": "pyterrier", "langchain": "langchain", "llama_index": "llama-index"}


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> SealSearcher:
    folder = tmp_path_factory.mktemp("integrations") / "index"
    tiny.build(folder, [*WORDS, *tiny.DOCUMENTS[1:]], fields=("tags", "year"))
    return SealSearcher(folder, tiny.generator(), preset="lm")


@pytest.mark.parametrize("module", MODULES)
def test_a_missing_package_is_one_line_that_names_the_extra(module: str) -> None:
    code = (
        f"import sys; sys.modules[{MODULES[module]!r}] = None\n"
        "from seal_ir.errors import MissingPackageError, UsageError\n"
        f"try:\n    import seal_ir.integrations.{module}\n"
        "except ImportError as error:\n    assert isinstance(error, UsageError); print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.count("\n") == 1
    assert done.stdout.endswith(f"); pip install 'seal-ir[{EXTRAS[module]}]'\n")


# PyTerrier


@pytest.fixture
def pt() -> Any:
    return pytest.importorskip("pyterrier")


def frame(pt: Any, **columns: list[Any]) -> Any:
    import pandas as pd

    return pd.DataFrame({"qid": ["007", "b"], "query": [QUERY, OTHER], **columns})


def test_pyterrier_results(pt: Any, searcher: SealSearcher) -> None:
    from seal_ir.integrations.pyterrier import SealRetriever

    retriever = SealRetriever(searcher, num_results=4, text=True)
    found = retriever.transform(frame(pt, query_0=["x", "y"], docno=["gone", "gone"], score=[1.0, 2.0]))
    assert list(found.columns) == ["qid", "query", "query_0", "docno", "score", "rank", "title", "text"]
    for qid, query in (("007", QUERY), ("b", OTHER)):
        rows = found[found["qid"] == qid]
        hits = searcher.search(query, 4)
        assert list(rows["docno"]) == [hit.docid for hit in hits] != []
        assert list(rows["score"]) == pytest.approx([hit.score for hit in hits])
        assert list(rows["rank"]) == list(range(len(hits)))
        texts = {document.id: (document.title, document.text) for document in tiny.DOCUMENTS}
        assert [texts[row.docno] for row in rows.itertuples()] == list(
            zip(rows["title"], rows["text"], strict=True)
        )
    assert set(found["query_0"]) == {"x", "y"}
    one = retriever.search(QUERY)
    assert list(one["docno"]) == [hit.docid for hit in searcher.search(QUERY, 4)]
    empty = retriever.transform(frame(pt)[:0])
    assert len(empty) == 0
    assert list(empty.columns) == ["qid", "query", "docno", "score", "rank", "title", "text"]


@pytest.mark.filterwarnings("default")  # of PyTerrier with pandas 3
def test_pyterrier_operators(pt: Any, searcher: SealSearcher) -> None:
    from seal_ir.integrations.pyterrier import SealRetriever

    retriever = SealRetriever(searcher, num_results=5)
    queries, best = frame(pt), [hit.docid for hit in searcher.search(QUERY, 5)]

    def ranked(pipeline: Any) -> list[str]:
        found = pipeline(queries)
        rows = found[found["qid"] == "007"].sort_values("rank")
        return [str(docno) for docno in rows["docno"]]

    assert ranked(retriever % 2) == best[:2]
    compiled = (retriever % 2).compile()
    assert isinstance(compiled, SealRetriever)
    assert (compiled.num_results, ranked(compiled)) == (2, best[:2])
    assert (retriever % 9).compile().num_results == 5
    turned = retriever >> pt.apply.doc_score(lambda row: -row["score"])
    assert ranked(turned) == best[::-1]
    rewritten = pt.apply.query(lambda row: OTHER) >> retriever
    assert ranked(rewritten) == [hit.docid for hit in searcher.search(OTHER, 5)]
    union = (retriever | (retriever % 1))(queries)  # a set: without ranks
    assert sorted(union[union["qid"] == "007"]["docno"]) == sorted(best)
    features = (retriever >> (retriever ** pt.apply.doc_score(lambda row: 0.5)))(queries)
    ours = {hit.docid: hit.score for hit in searcher.search(QUERY, 5)}
    rows = features[features["qid"] == "007"]
    found = dict(zip(rows["docno"], [float(row[0]) for row in rows["features"]], strict=True))
    assert found == pytest.approx(ours)
    assert {row[1] for row in features["features"]} == {0.5}
    summed = (retriever + 2 * retriever)(queries)
    rows = summed[summed["qid"] == "007"]
    assert dict(zip(rows["docno"], rows["score"], strict=True)) == pytest.approx(
        {docid: 3 * score for docid, score in ours.items()}
    )


@pytest.mark.filterwarnings("default")
def test_pyterrier_experiment(pt: Any, searcher: SealSearcher) -> None:
    import pandas as pd

    from seal_ir.integrations.pyterrier import SealRetriever

    retriever = SealRetriever(searcher, num_results=5)
    best = searcher.search(QUERY, 5)[1].docid
    qrels = pd.DataFrame({"qid": ["007", "b"], "docno": [best, "nowhere"], "label": [1, 1]})
    table = pt.Experiment(
        [retriever, retriever % 1], frame(pt), qrels, ["recip_rank", "P_1"], names=["seal", "first"]
    )
    assert table["recip_rank"].tolist() == [0.25, 0.0]
    assert table["P_1"].tolist() == [0.0, 0.0]
    assert not pt.java.started()


def test_pyterrier_refusals(pt: Any, searcher: SealSearcher) -> None:
    import pandas as pd

    from seal_ir.integrations.pyterrier import SealRetriever

    with pytest.raises(pt.validate.InputValidationError):
        SealRetriever(searcher).transform(pd.DataFrame({"qid": ["1"]}))
    with pytest.raises(ArgumentError, match="num_results is 0"):
        SealRetriever(searcher, num_results=0)
    with pytest.raises(ArgumentError, match="preset: cannot be set on a searcher that is there"):
        SealRetriever(searcher, preset="lm")
    with pytest.raises(ArgumentError, match="index is 3; give a SealSearcher"):
        SealRetriever(3)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="neither an index directory nor a registered index"):
        SealRetriever("no-such-index")
    assert SealRetriever(searcher.index_dir, preset="lm").searcher.config.preset == "lm"


# LangChain and LlamaIndex


def expected(searcher: SealSearcher, query: str, k: int, **options: Any) -> list[tuple[Any, ...]]:
    """Id, text and metadata of each hit."""
    documents = {document.id: document for document in tiny.DOCUMENTS}
    found = []
    for rank, hit in enumerate(searcher.search(query, k, **options), start=1):
        document = documents[hit.docid]
        metadata = {"docid": hit.docid, "title": document.title, "score": hit.score, "rank": rank}
        further = {"tags": ["city", "river"], "year": "1900"} if hit.docid == "d1" else {}
        found.append((hit.docid, document.text, metadata | further))
    assert found
    return found


def test_langchain(searcher: SealSearcher) -> None:
    pytest.importorskip("langchain_core")
    from langchain_core.runnables import RunnableLambda, RunnablePassthrough

    from seal_ir.integrations.langchain import SealRetriever

    retriever = SealRetriever(searcher=searcher, k=3)

    def shown(documents: Any) -> list[tuple[Any, ...]]:
        return [(one.id, one.page_content, one.metadata) for one in documents]

    for query in (QUERY, OTHER):
        assert shown(retriever.invoke(query)) == expected(searcher, query, 3)
        assert shown(asyncio.run(retriever.ainvoke(query))) == expected(searcher, query, 3)
    assert any("tags" in metadata for _, _, metadata in expected(searcher, QUERY, 3))
    within = ["d1", "d5"]
    assert shown(retriever.invoke(QUERY, k=1, filter=within)) == expected(searcher, QUERY, 1, filter=within)
    assert shown(asyncio.run(retriever.ainvoke(QUERY, k=1))) == expected(searcher, QUERY, 1)
    assert [shown(one) for one in retriever.batch([QUERY, OTHER])] == [
        expected(searcher, query, 3) for query in (QUERY, OTHER)
    ]
    several = asyncio.run(retriever.abatch([QUERY, OTHER]))
    assert [shown(one) for one in several] == [expected(searcher, query, 3) for query in (QUERY, OTHER)]
    chain = {"found": retriever, "question": RunnablePassthrough()} | RunnableLambda(
        lambda values: (values["question"], values["found"][0].id)
    )
    assert chain.invoke(QUERY) == (QUERY, expected(searcher, QUERY, 1)[0][0])
    assert SealRetriever.from_index(searcher.index_dir, k=2, preset="lm").searcher.config.preset == "lm"
    with pytest.raises(ArgumentError, match="q is 3"):
        retriever.invoke(3)  # type: ignore[arg-type]


def test_llama_index(searcher: SealSearcher) -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.schema import MetadataMode, QueryBundle

    from seal_ir.integrations.llama_index import SealRetriever

    retriever = SealRetriever(searcher, similarity_top_k=3)

    def shown(nodes: Any) -> list[tuple[Any, ...]]:
        assert all(one.score == one.node.metadata["score"] for one in nodes)
        return [(one.node.id_, one.node.text, one.node.metadata) for one in nodes]

    for query in (QUERY, QueryBundle(OTHER)):
        text = query if isinstance(query, str) else query.query_str
        assert shown(retriever.retrieve(query)) == expected(searcher, text, 3)
        assert shown(asyncio.run(retriever.aretrieve(query))) == expected(searcher, text, 3)
    first = next(one for one in retriever.retrieve(QUERY) if one.node.id_ == "d1").node
    assert first.get_content(MetadataMode.LLM) == f"title: Paris\n\n{tiny.SENTENCES[0]}"
    filtered = SealRetriever(searcher, 5, filter=["d5"])
    assert [one.node.id_ for one in filtered.retrieve(OTHER)] == ["d5"]
    with pytest.raises(ArgumentError, match="similarity_top_k is 0"):
        SealRetriever(searcher, 0)


def test_llama_index_fuses_us_with_another(searcher: SealSearcher) -> None:
    """Reciprocal rank fusion of LlamaIndex's own, without a language model of theirs."""
    pytest.importorskip("llama_index.core")
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever

    from seal_ir.integrations.llama_index import SealRetriever

    parts = [SealRetriever(searcher, 3), SealRetriever(searcher, 3, filter=["d5", "d1"])]
    fusion = QueryFusionRetriever(
        parts, llm=MockLLM(), num_queries=1, similarity_top_k=3, mode="reciprocal_rerank", use_async=False
    )
    both = {one.node.id_ for part in parts for one in part.retrieve(QUERY)}
    assert {one.node.id_ for one in fusion.retrieve(QUERY)} <= both


def test_documents_of_a_searcher_in_memory() -> None:
    """`from_documents`, whose index goes with the searcher, serves as well."""
    pytest.importorskip("langchain_core")
    from seal_ir.integrations.langchain import SealRetriever

    made = SealSearcher.from_documents([Document("a", "T", "the sea is calm")], tiny.generator(), preset="lm")
    (found,) = SealRetriever(searcher=made).invoke("the sea")
    assert (found.id, found.page_content, found.metadata["title"]) == ("a", "the sea is calm", "T")
