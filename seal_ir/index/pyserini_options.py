"""What becomes of the options of Pyserini's indexer that `python -m seal_ir.index` has not."""

from __future__ import annotations

from seal_ir.command import Foreign

_ANY_LANGUAGE = "text is cut by the tokenizer of --model, whatever its language"
_WORDS = "all words are indexed as they are written, as a model writes text and not stems"
_SEGMENTS = "an index is cut into segments by itself, see --max-segment-tokens; leave it out"
_TWEETS = "tweets are not read; make JSON lines of them and leave it out"

IGNORED: Foreign = {
    "--generator": (1, "there are no Lucene documents to make; --collection says how records are read"),
    "--storePositions": (0, "an FM-index has every position"),
    "--storeDocvectors": (0, "an FM-index gives back the tokens of every document"),
    "--storeContents": (0, "title and text of every document come back from the index"),
    "--optimize": (0, "small segments are merged as they come; --merge makes one of all"),
    "--uniqueDocid": (0, "ids are always unique; --duplicates says what becomes of equal ones"),
    "--memoryBuffer": (1, "it is Lucene's; --memory is how much the build may take"),
    "--verbose": (0, "what is being done is told as it goes on"),
    "--quiet": (0, "what is being done is told on stderr; send that to /dev/null"),
    "--language": (1, _ANY_LANGUAGE),
    "--useCompositeAnalyzer": (0, _ANY_LANGUAGE),
    "--useAutoCompositeAnalyzer": (0, _ANY_LANGUAGE),
    "--stemmer": (1, _WORDS),
    "--keepStopwords": (0, _WORDS),
    "--stopwords": (1, _WORDS),
    "--bm25.accurate": (0, "there is no BM25 in this index"),
}
REFUSED: Foreign = {
    "--whitelist": (1, "use --include-ids FILE instead"),
    "--impact": (0, "weights of terms are no text; index the text itself"),
    "--pretokenized": (0, "the tokenizer of --model cuts the text; give the text itself"),
    "--analyzeWithHuggingFaceTokenizer": (1, "use --model, whose tokenizer is taken, instead"),
    "--shard.count": (1, _SEGMENTS),
    "--shard.current": (1, _SEGMENTS),
    "--tweet.keepRetweets": (0, _TWEETS),
    "--tweet.keepUrls": (0, _TWEETS),
    "--tweet.stemming": (0, _TWEETS),
    "--tweet.maxId": (1, _TWEETS),
    "--tweet.deletedIdsFile": (1, _TWEETS),
    "--options": (0, "use --help instead"),
}
