"""Fields -> index symbols, each word of a collection given to the tokenizer once and then remembered.

Byte-level BPE never merges across the beginning of a space that follows something else: words between single
spaces, each with the space before it, have the same tokens alone as in their text. A collection has far fewer
distinct words than words. Other texts, and texts for other tokenizers, go through the tokenizer as wholes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from tokenizers.pre_tokenizers import ByteLevel

from seal_ir.text.symbols import to_symbols
from seal_ir.text.tokenizer import TextTokenizer

MOST_WORDS = 1 << 18  # remembered, about 200 bytes each; they are 19 of 20 words of English Wikipedia
_LONGEST = 32  # characters of a word that is remembered
_TOGETHER = 64  # new words in one text for the tokenizer, which takes its time for each text
_SPACE = "Ġ"  # as byte-level BPE writes the space
# What cuts texts before byte-level BPE does, and never inside the words that are cut here: Llama 3's pattern.
_PATTERNS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
)


class Field(NamedTuple):
    """A field as the index holds it.

    Attributes:
        symbols: uint32 each, as bytes.
        exact: whether the tokenizer gives the field back exactly.
    """

    symbols: bytes
    exact: bool


class _Known(dict[str, bytes]):
    """Symbols of words; collects words that are asked for and not there."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def __missing__(self, word: str) -> bytes:
        self.asked.append(word)
        return b""


class FieldEncoder:
    """Encodes fields as `TextTokenizer.encode_fields` does, and faster. For one thread at a time.

    What it remembers changes no answer.
    """

    def __init__(
        self, tokenizer: TextTokenizer, most_words: int = MOST_WORDS, *, by_words: bool = True
    ) -> None:
        """Remember nothing yet.

        Args:
            tokenizer: whose symbols.
            most_words: how many words are remembered, the first ones met.
            by_words: False leaves all to the tokenizer, to check what was encoded by words.
        """
        self._tokenizer, self._most_words = tokenizer, most_words
        self._known = _Known()
        self._starts: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None
        if by_words and parts_at_spaces(tokenizer):
            self._starts = np.zeros(tokenizer.n_vocabulary, dtype=bool)
            self._starts[[n for name, n in tokenizer.vocabulary.items() if name.startswith(_SPACE)]] = True
            self._lost = _lost_bytes(tokenizer.vocabulary)

    def encode(self, texts: Sequence[str]) -> list[Field]:
        """The fields of texts, in their order."""
        if self._starts is None:
            return self._as_wholes(texts)
        find, asked = self._known.__getitem__, self._known.asked
        fields: list[Field] = []
        unfinished: list[tuple[int, list[str], list[bytes]]] = []
        new: set[str] = set()
        for at, text in enumerate(texts):
            words = text.split(" ")
            found = list(map(find, words))
            if asked:
                unfinished.append((at, words, found))
                new.update(asked)
                asked.clear()
            fields.append(Field(b"".join(found), exact=True))
        odd = {word for word in new if self._is_odd(word)}
        new -= odd
        self._learn(list(new), self._starts)
        wholes = []
        for at, words, found in unfinished:
            if odd and not odd.isdisjoint(words):
                wholes.append(at)
            else:
                fields[at] = Field(b"".join(self._completed(words, found)), exact=True)
        for at, field in zip(wholes, self._as_wholes([texts[at] for at in wholes]), strict=True):
            fields[at] = field
        self._forget(new)
        return fields

    def _completed(self, words: list[str], found: list[bytes]) -> list[bytes]:
        """`found` with the symbols of the words that were not known then: no word has none."""
        at = -1
        for _ in range(found.count(b"")):
            at = found.index(b"", at + 1)
            found[at] = self._known[words[at]]
        return found

    def _as_wholes(self, texts: Sequence[str]) -> list[Field]:
        """Fields by the tokenizer alone, which is asked for the texts again."""
        ids = self._tokenizer.encode_fields(texts)
        back = self._tokenizer.decode_fields(ids)
        found = zip(ids, texts, back, strict=True)
        return [Field(to_symbols(own).tobytes(), decoded == text) for own, text, decoded in found]

    def _is_odd(self, word: str) -> bool:
        """Whether a word cannot be told from its neighbours, or loses bytes.

        White space before a space may belong together with it; and an empty word lies between two spaces.
        """
        if not word or word[-1].isspace():
            return True
        data = word.encode("utf-8")
        return len(data.translate(None, self._lost)) < len(data)

    def _learn(self, words: list[str], starts: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        """Make words known: many of them in a text, which is cut where a token begins with a space."""
        groups = [words[at : at + _TOGETHER] for at in range(0, len(words), _TOGETHER)]
        encoded = self._tokenizer.encode_fields([" ".join(group) for group in groups])
        for group, ids in zip(groups, encoded, strict=True):
            symbols = to_symbols(ids)
            data = symbols.tobytes()
            cuts = [*(np.flatnonzero(starts[ids]) * symbols.itemsize).tolist(), len(data)]
            values = (data[start:end] for start, end in pairwise(cuts))
            self._known.update(zip(group, values, strict=True))

    def _forget(self, new: set[str]) -> None:
        """Let go of new words: of the long ones, then of those for which there is no room."""
        known = self._known
        for word in sorted(new, key=len, reverse=True):
            if len(word) <= _LONGEST and len(known) <= self._most_words:
                break
            del known[word]


def parts_at_spaces(tokenizer: TextTokenizer) -> bool:
    """Whether a text's tokens are those of its words, one after the other, each with the space before it.

    Words stand between single spaces, and none ends in other white space. Decided by the definition: BPE over
    bytes that cuts by GPT-2's or Llama 3's pattern, before that perhaps at digits, and changes no character.
    """
    definition = json.loads(tokenizer.definition)
    model, decoder = definition["model"], definition.get("decoder") or {}
    changing = ("dropout", "continuing_subword_prefix", "end_of_word_suffix")
    numbers = set(tokenizer.vocabulary.values())
    return (
        definition.get("normalizer") is None
        and model.get("type") == "BPE"
        and not any(model.get(name) for name in changing)
        and decoder.get("type") == "ByteLevel"
        and _cuts_at_spaces(definition.get("pre_tokenizer") or {})
        and _SPACE in tokenizer.vocabulary
        and len(numbers) == len(tokenizer.vocabulary)
    )


def _cuts_at_spaces(step: Mapping[str, Any]) -> bool:
    """Whether a pre-tokenizer is known to begin a part at each space after something else."""
    *before, last = step["pretokenizers"] if step.get("type") == "Sequence" else [step]
    if last.get("type") != "ByteLevel" or (before and last["add_prefix_space"]):
        return False  # or spaces before what stood before none
    if last["use_regex"]:
        return all(part.get("type") == "Digits" for part in before)
    return len(before) == 1 and (
        before[0].get("type") == "Split"
        and before[0]["pattern"].get("Regex") in _PATTERNS
        and before[0]["behavior"] == "Isolated"
        and not before[0]["invert"]
    )


def _lost_bytes(vocabulary: Mapping[str, int]) -> bytes:
    """Bytes that a byte-level vocabulary has no token for."""
    alphabet = set(ByteLevel.alphabet())
    own = {byte for byte in range(256) if chr(byte) in alphabet}  # bytes that stand for themselves
    others = [byte for byte in range(256) if byte not in own]
    letters = {byte: chr(byte) for byte in own} | {byte: chr(256 + n) for n, byte in enumerate(others)}
    return bytes(byte for byte, letter in letters.items() if letter not in vocabulary)
