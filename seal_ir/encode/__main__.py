"""`python -m seal_ir.encode`: write the keys of topics, in the spelling of Pyserini's own command."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from seal_ir.command import Progress, run
from seal_ir.decode.prompts import CutQueries
from seal_ir.encode.options import parse
from seal_ir.encode.vectors import useful, vector
from seal_ir.formats.io.files import utf8
from seal_ir.formats.io.outputs import is_stream
from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.topics.reading import read_topics
from seal_ir.keys.files import KeyWriter, file_to_write, provenance_file
from seal_ir.keys.provenance import KeyProvenance, write_provenance
from seal_ir.records import Query
from seal_ir.search.options import configured, index_of, loaded_model
from seal_ir.search.pipeline import Decode, QueryPipeline
from seal_ir.search.ray_options import decoders_of, opened_of


def main(arguments: list[str]) -> int:
    """Encode; 0 when the keys are written."""
    options = parse(arguments)
    config = configured(options.preset, options.config, beam=options.beam, rescore=options.rescore)
    output = file_to_write(options.embeddings)
    places = Places.from_environment()
    directory = index_of(options.index, options.corpus, places, options.yes)
    topics = read_topics(resolve_topics(options.corpus, places), options.topics_format)
    topics = shard(topics, options.shard_id, options.shard_num)
    pipeline = QueryPipeline(
        opened_of(options, directory),
        options.encoder,
        config=config,
        device=options.device,
        dtype=options.dtype,
        batch_size=options.batch_size,
    )
    with nullcontext() if options.decoders is None else decoders_of(options, pipeline, topics) as decoders:
        place = decoders or loaded_model(pipeline, options.threads, options.yes)
        made = KeyProvenance.of(pipeline.index, pipeline.model, place.dtype, config)
        started = time.monotonic()
        cut = _encode(pipeline, topics, output, made, decoders.decoded if decoders else None)
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
            "device": place.device,
            "n_topics": len(topics),
            "seconds": round(time.monotonic() - started, 1),
            "version": version("seal-ir"),
        }
        write_provenance(provenance_file(output), made, **more)
        print(utf8(output))
    return 0


def shard(topics: Sequence[Query], number: int, n_shards: int) -> list[Query]:
    """One of n consecutive parts of equal size, the last with what is left over, as Pyserini cuts them."""
    size = len(topics) // n_shards
    return list(topics[number * size : None if number == n_shards - 1 else (number + 1) * size])


def _encode(
    pipeline: QueryPipeline,
    topics: Sequence[Query],
    output: Path,
    made: KeyProvenance,
    decode: Decode | None,
) -> CutQueries:
    """Writes the keys batch by batch; which queries were cut."""
    progress = Progress(len(topics), "queries")
    cut = CutQueries()
    index = pipeline.index
    with KeyWriter(output, made.fingerprint) as writer:
        for batch in pipeline.key_batches(topics, cut, decode):
            for topic, keys in zip(*batch, strict=True):
                kept = keys._replace(unigrams=useful(keys.unigrams, index.n_tokens))
                writer.write(topic, kept, vector(keys, index, pipeline.config.rank))
            progress.advance(len(batch.queries))
    progress.close()
    return cut


if __name__ == "__main__":
    run(main)
