"""`SealIndexer`: an index that grows and changes, from Python."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Literal

from seal_ir.arguments import choice, path, texts, whole
from seal_ir.errors import IndexDirError, InputError, UsageError, shown
from seal_ir.formats.io.outputs import remove
from seal_ir.index.builder import BuildOptions
from seal_ir.index.changes import Changes, Wanted, chosen_of
from seal_ir.index.committing import committed, merged
from seal_ir.index.directory import unwritable
from seal_ir.index.document_checks import Given, given
from seal_ir.index.generations import building
from seal_ir.index.home import Home, Model, begun, cutter_for, split_of
from seal_ir.index.manifest import Manifest
from seal_ir.index.pages import batches, check_whole, found, pieces
from seal_ir.index.parts import opened_parts
from seal_ir.index.segmenting import PhaseReport, tokenised
from seal_ir.index.tiers import loads_of, merged_to, next_merge
from seal_ir.text.words import FieldEncoder

Duplicates = Literal["error", "first", "last"]
Missing = Literal["error", "skip"]
_DEFAULTS = BuildOptions()


class SealIndexer:
    """Adds, deletes and updates documents of an index; the name and manner of Pyserini's `LuceneIndexer`.

    It holds the index's lock from the beginning to `close`, or to the end of its `with` block: one process
    writes, and any number of others read. Nothing is seen by readers before `commit`; then a reader that is
    opened, or refreshed, sees all of it. Leaving the block commits; leaving it by an error, or being killed,
    leaves the last commit. May be called from several threads, one at a time.

    ```python
    with SealIndexer("idx", model="smollm2-135m-rank") as writer:
        writer.add([{"id": "a", "title": "Paris", "text": "The capital of France."}])
    ```

    Attributes:
        directory: the index directory.
    """

    def __init__(
        self,
        index_dir: str | Path,
        model: Model | None = None,
        *,
        options: BuildOptions = _DEFAULTS,
        progress: PhaseReport = lambda phase, done: None,
    ) -> None:
        """Open an index for writing, or begin a new one, which is there with the first commit.

        Args:
            index_dir: the index directory.
            model: whose tokenizer a new index uses: folder, hub name or packaged model, or a tokenizer;
                default: the packaged model. An index that is there knows its own, which this must be.
            options: how segments are built, one at a time; engine, fields and what is kept of records are
                those of an index that is there; another split than its own is refused.
            progress: told of each phase.

        Raises:
            UsageError: the directory holds something else, another process writes, or the split is another.
            ModelError: the model cannot be found, or its tokenizer is not the index's.
            IndexDirError: the index is damaged, or the directory cannot be written.
        """
        self.directory = Path(os.path.realpath(path(index_dir, "index_dir")))
        self._max_tokens = options.max_segment_tokens
        self._lock = threading.RLock()
        self._closing = ExitStack()
        self._is_open = True
        try:
            with self._writing():
                working = self._closing.enter_context(building(self.directory))
            self._base, tokenizer = begun(self.directory, model, options)
            cutter = cutter_for(self._base, tokenizer, options)
            self._home = Home(self.directory, working, tokenizer, cutter, progress)
            self._encoder = FieldEncoder(tokenizer)
            self._split = split_of(self.directory, self._base)
            self._parts = opened_parts(self.directory, self._base)
            self._changes = self._no_changes()
        except BaseException:
            self._abandon()
            raise

    @property
    def n_documents(self) -> int:
        """Documents of the index after the next commit."""
        return self._base.n_documents + self._changes.n_added - self._changes.n_deleted

    @property
    def manifest(self) -> Manifest:
        """What the index holds since the last commit; no segments before the first one."""
        return self._base

    def add(self, docs: Iterable[Given], duplicates: Duplicates = "error") -> None:
        """Add documents; all of them, or none where this raises.

        Args:
            docs: each a `Document`, a dict (`id`, and `contents` or `title` and `text`, and the index's
                further fields) or the text of a JSON object.
            duplicates: where the index, or an earlier one of `docs`, has the id: "error", keep the "first",
                or the "last", which takes its place.

        Raises:
            InputError: an id is there already, or a document is longer than a segment may be.
            ArgumentError: one of `docs` is no document; names its place.
            IndexDirError: the disk or memory is full.
        """
        choice(duplicates, "duplicates", ("error", "first", "last"))
        self._put(docs, lambda docid, known: self._on_duplicate(docid, duplicates) if known else True)

    def update(self, docs: Iterable[Given]) -> None:
        """Put documents in the place of those with their ids; all of them, or none where this raises.

        Args:
            docs: as for `add`.

        Raises:
            InputError: an id is not there, or as for `add`.
            ArgumentError, IndexDirError: as `add`.
        """
        self._put(docs, lambda docid, known: known or self._refuse_absent(docid))

    def delete(self, ids: Iterable[str], missing: Missing = "error") -> None:
        """Delete documents by their ids; all of them, or none where this raises.

        Args:
            ids: in any order; a repeated one counts once. That of a split document stands for its passages.
            missing: where an id is not there: "error", or "skip" it.

        Raises:
            InputError: an id is not there, or is that of a split document's passage.
            ArgumentError: one is no text.
        """
        choice(missing, "missing", ("error", "skip"))
        wanted = list(dict.fromkeys(texts(list(ids) if isinstance(ids, set | frozenset) else ids, "ids")))
        with self._change() as changes:
            check_whole(wanted, self._split)
            places = found(changes.find, wanted, self._split)
            if (
                missing == "error"
                and (absent := next((i for i in wanted if i not in places), None)) is not None
            ):
                self._refuse_absent(absent)
            for page in places.values():
                changes.delete_all(page)

    def commit(self) -> None:
        """Make all changes seen, on disk to stay; then merge small segments where there are many.

        Raises:
            InputError: no document would be left; the changes stay, and can be added to.
            IndexDirError: the disk or memory is full; the last commit stays, and this writer is closed.
        """
        with self._lock:
            self._commit()
            while (group := next_merge(loads_of(self._base), self._max_tokens)) is not None:
                self._merge([group])

    def merge(self, max_segments: int = 1) -> None:
        """Commit, and rewrite segments: at most so many are left, and no deleted document.

        Neighbours are merged, so that documents stay in their order. There are more segments where these may
        not be larger (`BuildOptions.max_segment_tokens`).

        Raises:
            ArgumentError: max_segments is no integer from 1 on.
            InputError, IndexDirError: as `commit`.
        """
        most = whole(max_segments, "max_segments", 1)
        with self._lock:
            self._commit()
            groups = merged_to(loads_of(self._base), most)
            changed = [part.info.deleted is not None for part in self._parts]
            if rewritten := [group for group in groups if len(group) > 1 or changed[group.start]]:
                self._merge(rewritten)

    def close(self) -> None:
        """Commit and let go of the index. Harmless when that is done already.

        Raises:
            InputError, IndexDirError: as `commit`; the index is let go of, too.
        """
        with self._lock:
            if self._is_open:
                try:
                    self.commit()
                finally:
                    self._abandon()

    def __enter__(self) -> SealIndexer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._abandon()

    def _no_changes(self) -> Changes:
        return Changes(self._parts, self._home.cutter, self._home.working, self._next_number())

    def _next_number(self) -> int:
        numbers = [int(segment.name.split("-")[1]) for segment in self._base.segments]
        return (max(numbers, default=-1) + 1) % 1_000_000

    def _put(self, docs: Iterable[Given], wanted: Wanted) -> None:
        """Add documents in batches."""
        fields = self._base.further_fields
        with self._change() as changes:
            documents = given(docs, fields, self._base.record_fields)
            for batch in batches(documents, self._split):
                places = found(changes.find, (document.id for document in batch), self._split)
                chosen = chosen_of(batch, places, wanted)
                for document in chosen:
                    changes.delete_all(places.get(document.id, {}))
                parts = pieces(chosen, self._split)
                with self._writing():
                    for item in tokenised(parts, self._encoder, fields, self._home.progress):
                        changes.add(item)

    def _on_duplicate(self, docid: str, duplicates: Duplicates) -> bool:
        if duplicates == "error":
            raise InputError(
                f"{self.directory}: the id {shown(docid)} is there already; update it, or choose to keep the"
                " first or the last"
            )
        return duplicates == "last"

    def _refuse_absent(self, docid: str) -> bool:
        raise InputError(
            f"{self.directory}: there is no document with the id {shown(docid)}; check it, or add it"
        )

    @contextmanager
    def _change(self) -> Iterator[Changes]:
        """The changes so far; what is done to them in the block is taken back where that raises."""
        with self._lock:
            self._check_open()
            self._changes.begin()
            try:
                yield self._changes
            except IndexDirError:  # what is on disk may be cut short
                self._abandon()
                raise
            except BaseException:
                self._changes.undo()
                raise

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Tells in one line what the system refuses to write."""
        try:
            yield
        except OSError as error:
            raise unwritable(self.directory, error) from error

    def _commit(self) -> None:
        """Make all changes seen."""
        self._check_open()
        if not self._changes:
            return
        try:
            with self._writing():
                base = committed(self._home, self._base, self._parts, self._changes)
        except InputError:
            raise
        except BaseException:
            self._abandon()
            raise
        self._go_on(base)

    def _merge(self, groups: list[range]) -> None:
        try:
            with self._writing():
                base = merged(self._home, self._base, self._parts, groups, self._next_number())
        except BaseException:
            self._abandon()
            raise
        self._go_on(base)

    def _go_on(self, base: Manifest) -> None:
        """From a new generation."""
        self._base = base
        self._parts = opened_parts(self.directory, base, self._parts)
        for path_left in self._home.working.iterdir():  # segments that were deleted before they were built
            remove(path_left)
        self._changes = self._no_changes()

    def _check_open(self) -> None:
        if not self._is_open:
            raise UsageError(f"{self.directory}: this writer is closed; open another one")

    def _abandon(self) -> None:
        """Let go of the index, as the last commit left it."""
        self._is_open = False
        if hasattr(self, "_changes"):
            self._changes.abandon()
        self._closing.close()
