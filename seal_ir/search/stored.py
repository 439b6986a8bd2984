"""Searching with stored keys: those of `python -m seal_ir.encode` stand for what a model would write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from seal_ir.config import SearchConfig
from seal_ir.decode.beam import Decoded
from seal_ir.errors import InputError
from seal_ir.formats.io.files import utf8
from seal_ir.formats.io.jsonlines import Malformed
from seal_ir.index.reader import Index
from seal_ir.keys.files import KeyReader, file_to_read, provenance_file
from seal_ir.keys.lookup import look_up
from seal_ir.keys.provenance import read_provenance
from seal_ir.records import Query, QueryKeys


class StoredKeys:
    """The keys of topics, read as they are asked for; no model is loaded.

    Attributes:
        path: the file.
        made: what the keys were made with.
    """

    def __init__(
        self,
        path: Path,
        index: Index,
        topics: Iterable[Query],
        configs: Sequence[SearchConfig],
        *,
        model: str | None = None,
        dtype: str | None = None,
    ) -> None:
        """Look at what the keys were made with; none is read yet.

        Args:
            path: the file, or its folder.
            index: where the keys' rows come from.
            topics: whose keys will be asked for; those of others are passed over.
            configs: what will be ranked under.
            model: refuse keys of another model than this one.
            dtype: refuse keys of another precision.

        Raises:
            InputError: the keys cannot be read, or were made for something else; says for what.
            ModelError: `model` looks like a path and there is no such folder.
        """
        self.path = file_to_read(path)
        self.made = read_provenance(provenance_file(self.path))
        reason = self.made.misfit(index, configs, model, dtype)
        if reason:
            raise InputError(f"{self.path}: {reason}")
        self._index = index
        self._reader = KeyReader(self.path, self.made.fingerprint, (topic.id for topic in topics))

    def description(self) -> dict[str, str]:
        """What a run's settings say of its keys, as plain JSON values."""
        return {"keys": utf8(self.path), "model": self.made.model, "dtype": self.made.dtype}

    def decoded(self, topics: Sequence[Query]) -> Decoded:
        """The keys of a batch of topics, as decoding gives them.

        Raises:
            InputError: names the line that cannot be used, or the topic that has no keys.
        """
        return Decoded([self._keys(topic) for topic in topics])

    def _keys(self, topic: Query) -> QueryKeys:
        line, record = self._reader.take(topic)
        keys = look_up(self._index, record)
        if isinstance(keys, Malformed):
            raise InputError(f"{self.path}:{line}: {keys.reason}")
        return keys
