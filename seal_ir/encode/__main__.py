"""`python -m seal_ir.encode`: write the keys of topics, in the spelling of Pyserini's own command."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from seal_ir.command import run
from seal_ir.config import configured
from seal_ir.decode.cuts import CutQueries
from seal_ir.encode.encoder import KeyEncoder
from seal_ir.encode.options import Options, parse
from seal_ir.encode.vectors import useful
from seal_ir.formats.io.files import utf8
from seal_ir.formats.io.outputs import is_stream
from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.registry import index_directory, index_for
from seal_ir.keys.files import KeyWriter, file_to_write, made_beside
from seal_ir.keys.provenance import KeysMade, write_made
from seal_ir.lm.device import use_threads
from seal_ir.progress import Progress
from seal_ir.records import Query


def main(arguments: list[str]) -> int:
    """Encode; 0 when the keys are written."""
    options = parse(arguments)
    config = configured(options.preset, options.config, beam=options.beam, rescore=options.rescore)
    output = file_to_write(options.embeddings)
    places = Places.from_environment()
    directory = _index_directory(options, places)
    topics = read_topics(resolve_topics(options.corpus, places), options.topics_format)
    topics = shard(topics, options.shard_id, options.shard_num)
    encoder = KeyEncoder(
        directory, options.encoder, config=config, device=options.device, dtype=options.dtype
    )
    use_threads(options.threads)
    generator = encoder.load()  # a model that cannot be loaded is told before any output is opened
    print(f"model: {encoder.model} {generator.where}", file=sys.stderr)
    made = KeysMade.of(encoder.index, encoder.model, generator.dtype, config)
    started = time.monotonic()
    cut = _encode(encoder, topics, output, made, options.batch_size)
    if cut.sentence():
        print(cut.sentence(), file=sys.stderr)
    if not is_stream(output):  # which has nothing beside it
        more = {
            "preset": config.preset,
            "rank": asdict(config.rank),
            "index": utf8(directory),
            "topics": utf8(options.corpus),
            "topics_format": options.topics_format,
            "shard": [options.shard_id, options.shard_num],
            "batch_size": options.batch_size,
            "threads": options.threads,
            "device": generator.device,
            "n_topics": len(topics),
            "seconds": round(time.monotonic() - started, 1),
            "version": version("seal-ir"),
        }
        write_made(made_beside(output), made, **more)
        print(output)
    return 0


def shard(topics: Sequence[Query], number: int, n_shards: int) -> list[Query]:
    """One of n consecutive parts of equal size, the last with what is left over, as Pyserini cuts them."""
    size = len(topics) // n_shards
    return list(topics[number * size : None if number == n_shards - 1 else (number + 1) * size])


def _encode(
    encoder: KeyEncoder, topics: Sequence[Query], output: Path, made: KeysMade, batch_size: int
) -> CutQueries:
    """Writes the keys batch by batch; which queries were cut."""
    progress = Progress(len(topics), "queries")
    cut = CutQueries()
    with KeyWriter(output, made.fingerprint) as writer:
        for at in range(0, len(topics), batch_size):
            batch = topics[at : at + batch_size]
            decoded = encoder.decode([topic.text for topic in batch])
            cut.add([topic.id for topic in batch], decoded.cut)
            for topic, keys in zip(batch, decoded.queries, strict=True):
                kept = keys._replace(unigrams=useful(keys.unigrams, encoder.index.n_tokens))
                writer.write(topic, kept, encoder.vector(keys))
            progress.advance(len(batch))
    progress.close()
    return cut


def _index_directory(options: Options, places: Places) -> Path:
    if options.index is not None:
        return index_directory(options.index, places)
    entry = index_for(options.corpus, places)
    print(f"index: {entry.name} ({entry.directory})", file=sys.stderr)
    return entry.directory


if __name__ == "__main__":
    run(main)
