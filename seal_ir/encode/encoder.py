"""`SealQueryEncoder`: Pyserini's `QueryEncoder` for keys, those of a model or those of a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from seal_ir.arguments import text
from seal_ir.config import DEFAULT_PRESET, SearchConfig
from seal_ir.encode.vectors import vector
from seal_ir.errors import InputError
from seal_ir.formats.io.files import shown
from seal_ir.keys.files import file_to_read, iter_records
from seal_ir.lm.protocols import Generator
from seal_ir.search.pipeline import QueryPipeline


class SealQueryEncoder:
    """From a query to its n-grams and their weights, with the interface of Pyserini's sparse encoders.

    It encodes with a model over an index, or looks queries up in a file of `python -m seal_ir.encode`.

    Attributes:
        has_model: whether it encodes with a model.
        has_encoded_query: whether it looks queries up. (Both names are Pyserini's.)
    """

    def __init__(
        self,
        index: str | Path | None = None,
        model: str | Generator | None = None,
        encoded_query_dir: str | Path | None = None,
        *,
        preset: str = DEFAULT_PRESET,
        config: SearchConfig | None = None,
        device: str | None = None,
        dtype: str | None = None,
    ) -> None:
        """Open an index, or read encoded queries; the model is loaded with the first query.

        Args:
            index: an index directory.
            model: folder, hub name or packaged model, or a loaded model; default: the model that the
                index was built for.
            encoded_query_dir: instead of an index, encoded queries: their folder or file.
            preset: whose weights; see `SealSearcher`.
            config: settings instead of a preset.
            device: where the model runs; default: CUDA where there is one.
            dtype: see `load_generator`.

        Raises:
            ValueError: neither or both of index and encoded queries are given.
            IndexDirError: there is no sound index.
            InputError: the encoded queries cannot be read.
            UsageError: unknown preset.
        """
        if (index is None) == (encoded_query_dir is None):
            raise ValueError("give an index or encoded_query_dir, one of the two")
        self._pipeline: QueryPipeline | None = None
        self._encoded: Mapping[str, Mapping[str, float]] = {}
        if index is not None:
            self._pipeline = QueryPipeline(
                index, model, preset=preset, config=config, device=device, dtype=dtype
            )
        if encoded_query_dir is not None:
            self._encoded = _read_vectors(Path(encoded_query_dir))
        self.has_model, self.has_encoded_query = index is not None, encoded_query_dir is not None

    @classmethod
    def load_encoded_queries(cls, encoded_query_name: str | Path) -> SealQueryEncoder:
        """An encoder that looks queries up in a folder or file; nothing is downloaded.

        Raises:
            InputError: it cannot be read.
        """
        return cls(encoded_query_dir=encoded_query_name)

    def encode(self, query: str) -> dict[str, float]:
        """N-grams of the query and their weights w(n, q) as ranking uses them, best first.

        See `vectors.vector` and `ngram_text` for which n-grams there are and how they read.

        Raises:
            ArgumentError: the query is no text.
            ModelError: the model cannot be loaded or does not fit the index.
            InputError: the query is not among the encoded ones.
        """
        query = text(query, "query")
        if self._pipeline is not None:
            (keys,) = self._pipeline.decode([query])
            return vector(keys, self._pipeline.index, self._pipeline.config.rank)
        if query not in self._encoded:
            raise InputError(f"{shown(query)} is not among the encoded queries; encode it, or give an index")
        return dict(self._encoded[query])


def _read_vectors(path: Path) -> dict[str, Mapping[str, float]]:
    """Vectors by query; of topics that ask the same the first."""
    found: dict[str, Mapping[str, float]] = {}
    for _, record, _ in iter_records(file_to_read(path)):
        found.setdefault(record.query.text, record.vector)
    return found
