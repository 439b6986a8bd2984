"""A tokenizer reduced to what an index needs: plain text to ids and back, nothing special."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from seal_ir.errors import ModelError, one_line
from seal_ir.structured import json_line
from seal_ir.text.symbols import FIRST_TOKEN

Span = tuple[int, int]  # characters [start, end)
_LONGEST = 300  # characters of the library's message
_BYTE_LEVEL_DEFAULTS = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}
_BPE_DEFAULTS = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}


class TextTokenizer:
    """Encodes fields as plain text. Immutable and safe to share between threads.

    Special tokens are taken out of the tokenizer altogether, so that a literal `</s>` in a document is
    five ordinary characters. For byte-level BPE a space is put before a field, so that its first word
    has the token that it has in the middle of a sentence; `decode_field` takes it away again.
    """

    def __init__(self, definition: str) -> None:
        """Args: definition: the text of a `tokenizer.json`."""
        pieces = json.loads(definition)
        special = {entry["content"]: int(entry["id"]) for entry in pieces.get("added_tokens") or []}
        pieces.update(added_tokens=[], post_processor=None, truncation=None, padding=None)
        self.definition = json_line(_canonical(pieces), sort_keys=True)
        self.fingerprint = hashlib.sha256(self.definition.encode()).hexdigest()
        self._tokenizer = Tokenizer.from_str(self.definition)
        self.vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        """Ids of the tokens that text can get, by their names."""
        self._n_vocabulary: int = max(self.vocabulary.values()) + 1
        self._ids_by_name: dict[str, int] = self.vocabulary | special
        self.affixes = _affixes(definition)
        """Special ids that the model expects before and after an input, e.g. BART's `<s>` and `</s>`."""
        self.prefix = " " if _is_byte_level(pieces) else ""
        """What is put before a field."""

    @classmethod
    def from_file(cls, path: Path) -> TextTokenizer:
        """The tokenizer of a `tokenizer.json` file.

        Raises:
            ModelError: the file is missing or is no tokenizer.
        """
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ModelError(f"{path}: cannot read the tokenizer: {error.strerror}") from error
        return cls.from_bytes(data, path)

    @classmethod
    def from_bytes(cls, data: bytes, path: Path) -> TextTokenizer:
        """The tokenizer of the bytes of a `tokenizer.json` file; `path` is where they came from.

        Raises:
            ModelError: they are no tokenizer.
        """
        try:
            return cls(data.decode("utf-8"))
        except BaseException as error:  # tokenizers raises bare Exception, and panics at some damage
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise ModelError(f"{path}: not a tokenizer.json: {one_line(error, _LONGEST)}") from error

    @property
    def n_symbols(self) -> int:
        """Size of the index alphabet: one more than the largest symbol."""
        return self.n_vocabulary + FIRST_TOKEN

    @property
    def n_vocabulary(self) -> int:
        """One more than the largest id that text can get."""
        return self._n_vocabulary

    def token_id(self, token: str) -> int:
        """The id of a token by its name.

        Raises:
            ModelError: the tokenizer has no such token.
        """
        token_id = self._ids_by_name.get(token)
        if token_id is None:
            raise ModelError(f"the tokenizer has no token named {token!r}")
        return token_id

    def encode_fields(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, as it stands in a document."""
        encodings = self._tokenizer.encode_batch_fast(
            [self.prefix + text if text else "" for text in texts], add_special_tokens=False
        )
        return [encoding.ids for encoding in encodings]

    def encode_spans(self, texts: Sequence[str]) -> list[tuple[list[int], list[Span]]]:
        """Token ids of each text, as `encode_fields` has them, and the characters that each was made of."""
        encodings = self._tokenizer.encode_batch(
            [self.prefix + text if text else "" for text in texts], add_special_tokens=False
        )
        n = len(self.prefix)
        return [
            (encoding.ids, [(max(start - n, 0), max(end - n, 0)) for start, end in encoding.offsets])
            for encoding in encodings
        ]

    def encode(self, text: str) -> list[int]:
        """Token ids of a text as it is, without a leading space."""
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of token ids, verbatim: no clean-up of spaces."""
        return self._tokenizer.decode(list(token_ids), skip_special_tokens=False)

    def decode_field(self, token_ids: Sequence[int]) -> str:
        """The field that `encode_fields` was given, if the tokenizer is lossless on it."""
        text = self.decode(token_ids)
        return text.removeprefix(self.prefix)

    def decode_fields(self, batch: Sequence[Sequence[int]]) -> list[str]:
        """`decode_field` of each, in one call."""
        texts = self._tokenizer.decode_batch([list(ids) for ids in batch], skip_special_tokens=False)
        return [text.removeprefix(self.prefix) for text in texts]


def _canonical(pieces: dict[str, Any]) -> dict[str, Any]:
    """The definition with what other writers leave out: equal tokenizers have equal fingerprints.

    `save_pretrained` writes a hub's tokenizer.json anew: merges as pairs, and every default spelled out.
    """
    steps = {name: _spelled_out(pieces.get(name)) for name in ("normalizer", "pre_tokenizer", "decoder")}
    model = pieces["model"]
    if "merges" in model and model.get("type", "BPE") == "BPE":
        pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
        model = _BPE_DEFAULTS | model | {"merges": pairs}
    return pieces | steps | {"model": model}


def _spelled_out(step: Any) -> Any:
    """A step of the definition, or several, with the defaults of byte-level BPE's."""
    if isinstance(step, list):
        return [_spelled_out(part) for part in step]
    if not isinstance(step, dict):
        return step
    parts = {name: _spelled_out(part) for name, part in step.items()}
    return _BYTE_LEVEL_DEFAULTS | parts if step.get("type") == "ByteLevel" else parts


def _is_byte_level(pieces: object) -> bool:
    """Whether any pre-tokenizer step is byte-level BPE's."""
    if isinstance(pieces, dict):
        if pieces.get("type") == "ByteLevel":
            return True
        return any(_is_byte_level(pieces.get(name)) for name in ("pre_tokenizer", "pretokenizers"))
    return isinstance(pieces, list) and any(_is_byte_level(piece) for piece in pieces)


def _affixes(definition: str) -> tuple[list[int], list[int]]:
    tokenizer = Tokenizer.from_str(definition)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    plain = tokenizer.encode("a", add_special_tokens=False).ids
    special = tokenizer.encode("a", add_special_tokens=True).ids
    start = next((i for i in range(len(special)) if special[i : i + len(plain)] == plain), 0)
    return special[:start], special[start + len(plain) :]
