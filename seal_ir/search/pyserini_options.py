"""What becomes of the options of Pyserini's searches that `python -m seal_ir.search` has not."""

from __future__ import annotations

from seal_ir.command import Foreign

_BM25 = "n-grams rank here; use python -m seal_ir.baselines.bm25 for BM25 alone, or --fuse bm25 for both"
_PARAMETER = "it is BM25's; use python -m seal_ir.baselines.bm25 with it, and --fuse with the run of that"
_LUCENE = "it is Lucene's; use python -m pyserini.search.lucene with it, and --fuse with the run of that"
_DENSE = "keys are n-grams and not vectors; use python -m seal_ir.baselines.dense, and --fuse with its run"
_FEEDBACK = "queries are not expanded from hits; use Pyserini with it, and --fuse with the run of that"
_PROMPT = "the model's seal.json says how it is asked; leave it out"
_MODEL = "use --model instead"
_FUSION = "use --fuse with --fusion interpolation and --alpha instead"

IGNORED: Foreign = {
    "--language": (1, "the model reads the topics as they are"),
    "--stopwords": (1, "the model reads all words"),
    "--explicit-truncate": (0, "queries are cut to what the model reads, and that is told"),
}
REFUSED: Foreign = {
    "--bm25": (0, _BM25),
    "--k1": (1, _PARAMETER),
    "--b": (1, _PARAMETER),
    **{f"--{name}": (0, _LUCENE) for name in ("bm25qs", "qld", "impact", "dismax")},
    **{f"--{name}": (1, _LUCENE) for name in ("encoded-corpus", "min-idf", "dismax.tiebreaker")},
    **{f"--{name}": (0, _FEEDBACK) for name in ("rm3", "rocchio", "rocchio-use-negative")},
    **{f"--rocchio-{name}": (1, _FEEDBACK) for name in ("alpha", "beta", "gamma", "topk", "bottomk")},
    **{f"--prf-{name}": (1, _FEEDBACK) for name in ("depth", "method")},
    **{f"--{name}": (1, _FEEDBACK) for name in ("sparse-index", "ance-prf-encoder")},
    "--prcl": ("+", _FEEDBACK),
    **{f"--prcl.{name}": (1, _FEEDBACK) for name in ("vectorizer", "r", "n", "alpha")},
    **{f"--{name}": (0, _DENSE) for name in ("dense", "hnsw", "flat", "l2-norm", "normalize-distances")},
    **{f"--{name}": (1, _DENSE) for name in ("ef-search", "pooling", "pca-model", "searcher", "binary-hits")},
    "--rerank": (0, _DENSE),
    "--multimodal": (0, "queries are text; leave it out"),
    **{f"--{name}": (1, _MODEL) for name in ("encoder", "encoder-class", "onnx-encoder")},
    "--encoded-queries": (1, "use --keys with what python -m seal_ir.encode wrote instead"),
    "--query-prefix": (1, _PROMPT),
    "--instruction-config": (1, _PROMPT),
    "--max-length": (1, "queries are cut to what the model reads; leave it out"),
    "--tokenizer": (1, "the index has its own tokenizer; leave it out"),
    "--pretokenized": (0, "the model's tokenizer cuts the topics; give them as text"),
    "--fields": ("+", "use kinds in the [rank] table of --config to say which fields count"),
    "--faiss-device": (1, "use --device instead"),
    "--fp16": (0, "use --dtype float16 instead"),
    "--remove-query": (0, "take lines whose document is the topic itself out of the run"),
    "--normalization": (0, _FUSION),
    "--weight-on-dense": (0, _FUSION),
}
