"""Which row of a fairseq embedding is which token: fairseq numbers tokens by its dictionary, `dict.txt`.

The dictionary lists the ids of GPT-2's byte-level BPE as strings, after four symbols that it does not list.
Of these ids the first 256 are the bytes, and each further one is what the next merge makes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, pre_tokenizers

from seal_ir.errors import InputError, ModelError
from seal_ir.formats.io.files import iter_lines, shown

_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
_MASK = "<mask>"
_GPT2_END = "<|endoftext|>"  # has the id after the last merge's
_PADDING = re.compile(r"madeupword\d+")  # fills the embedding up to a round number of rows


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A tokenizer's tokens.

    Attributes:
        ids: id of each token, special ones included.
        gpt2: names of the tokens by GPT-2's ids; empty for other than byte-level BPE.
    """

    ids: dict[str, int]
    gpt2: tuple[str, ...]

    @property
    def size(self) -> int:
        """One more than the largest id."""
        return max(self.ids.values()) + 1


def read_vocabulary(definition: str) -> Vocabulary:
    """The tokens of a `tokenizer.json`."""
    model: dict[str, Any] = json.loads(definition)["model"]
    ids: dict[str, int] = Tokenizer.from_str(definition).get_vocab(with_added_tokens=True)
    merges = model.get("merges") or []
    if not merges or not all(name in ids for name in _byte_names()):
        return Vocabulary(ids, ())
    joined = ["".join(merge.split(" ") if isinstance(merge, str) else merge) for merge in merges]
    return Vocabulary(ids, (*_byte_names(), *joined, _GPT2_END))


def rows_in_order(vocabulary: Vocabulary, n_rows: int, where: Path) -> list[int]:
    """The row of each id of the tokenizer where fairseq's numbering is the tokenizer's, as for BART large.

    Args:
        vocabulary: the tokenizer's.
        n_rows: rows of the embedding.
        where: the checkpoint, for messages.

    Returns:
        A row for each id; -1 for a <mask> after the last row, which the translation task does not have.

    Raises:
        InputError: the numberings cannot be the same.
    """
    for number, name in enumerate(_FIRST):
        if vocabulary.ids.get(name) != number:
            seen = vocabulary.ids.get(name, "absent")
            raise InputError(
                f"{where}: fairseq's token {number} is {name}, which is {seen} in the tokenizer; give"
                " --tokenizer BART's, or the checkpoint's dict.txt with --dict"
            )
    without_mask = vocabulary.ids.get(_MASK) == n_rows == vocabulary.size - 1
    if n_rows != vocabulary.size and not without_mask:
        raise InputError(
            f"{where}: its embedding has {n_rows:,} rows, the tokenizer {vocabulary.size:,} tokens; give the"
            " checkpoint's dict.txt with --dict"
        )
    return [*range(n_rows), *([-1] if without_mask else [])]


def rows_by_dictionary(vocabulary: Vocabulary, n_rows: int, dictionary: Path) -> list[int]:
    """The row of each id of the tokenizer by the names in `dict.txt`.

    Args:
        vocabulary: the tokenizer's.
        n_rows: rows of the embedding; one more than the dictionary names is <mask>'s.
        dictionary: lines of a token and its count.

    Returns:
        A row for each id; -1 for ids that no row is for: a <mask>, padding words, ids without a token. Rows
        of padding words that the tokenizer does not have follow, in their order.

    Raises:
        InputError: a line is malformed or comes twice, or the numbers of rows do not fit.
        ModelError: the tokenizer lacks a token of the dictionary, or the dictionary one of the tokenizer.
    """
    if not vocabulary.gpt2:
        raise ModelError("the tokenizer is no byte-level BPE, as fairseq's BART has; give --tokenizer BART's")
    names = [*_FIRST, *_names(vocabulary, dictionary)]
    if n_rows == len(names) + 1 and _MASK not in names:
        names.append(_MASK)
    if len(names) != n_rows:
        raise InputError(
            f"{dictionary}: makes {len(names):,} tokens with the 4 that it does not list; the checkpoint has"
            f" {n_rows:,} rows; give the dictionary that it was trained with"
        )
    rows = {name: row for row, name in enumerate(names)}
    surplus = [row for name, row in rows.items() if name not in vocabulary.ids]
    strange = [names[row] for row in surplus if not _PADDING.fullmatch(names[row])]
    if strange:
        raise ModelError(
            f"{dictionary}: the tokenizer lacks {_first(strange)} of it; give the one that it was made for"
        )
    absent = [name for name in vocabulary.ids if name not in rows]
    strange = [name for name in absent if name != _MASK and not _PADDING.fullmatch(name)]
    if strange:
        raise ModelError(
            f"{dictionary}: lacks the tokenizer's {_first(strange)}; give the tokenizer that it was made for"
        )
    names_by_id = {number: name for name, number in vocabulary.ids.items()}
    found = [rows.get(names_by_id.get(number, ""), -1) for number in range(vocabulary.size)]
    return found + surplus


def _names(vocabulary: Vocabulary, dictionary: Path) -> list[str]:
    """The tokenizer's names of the dictionary's tokens, in the order of its lines."""
    names: dict[str, int] = {}
    for number, line in iter_lines(dictionary):
        token, _, count = line.rpartition(" ")
        if not token or not re.fullmatch(r"\d+", count, re.ASCII):
            raise InputError(f"{dictionary}:{number}: expected a token, a space and its count: {shown(line)}")
        name = token
        if re.fullmatch(r"\d{1,9}", token, re.ASCII):
            if int(token) >= len(vocabulary.gpt2):
                raise ModelError(
                    f"{dictionary}:{number}: the tokenizer makes {len(vocabulary.gpt2):,} BPE tokens, none is"
                    f" number {token}; give --tokenizer BART's"
                )
            name = vocabulary.gpt2[int(token)]
        first = 0 if name in _FIRST else names.get(name)
        if first is not None:
            told = f"line {first}" if first else "the four that begin every dictionary"
            raise InputError(f"{dictionary}:{number}: {shown(token)} comes twice, see {told}")
        names[name] = number
    return list(names)


def _byte_names() -> list[str]:
    """The characters that stand for bytes in byte-level BPE, in the order of GPT-2's ids."""
    return sorted(pre_tokenizers.ByteLevel.alphabet())


def _first(names: Sequence[str]) -> str:
    return repr(names[0]) + (f" and {len(names) - 1:,} more" if len(names) > 1 else "")
