"""Whether Hugging Face's hub can be asked. Its own clients try for a minute before they give up."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from seal_ir.errors import one_line

TIMEOUT_SECONDS = 5.0
DEADLINE_SECONDS = 10.0  # of an answer as a whole: looking for a name knows no timeout
_REFUSED = (407, 429)  # and from 500 on: what a proxy or an overloaded hub says, to anything it is asked
_SETTINGS = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE")
_TRUE = ("1", "ON", "YES", "TRUE")


def unreachable() -> str:
    """Why the hub cannot be asked, and what would help; "" where it answers, whatever it says."""
    for name in _SETTINGS:
        value = os.environ.get(name, "")
        if value.upper() in _TRUE:
            return f"{name}={value} forbids asking the hub; unset it"
    from huggingface_hub import constants, get_session

    if str(constants.HF_HUB_CACHE).startswith("~"):
        return "the hub's cache has no place, since HOME is not set and this user has no home; set HF_HOME"
    if constants.HF_HUB_OFFLINE:  # by a variable that has been unset since
        return "huggingface_hub was loaded offline; start anew without HF_HUB_OFFLINE"
    session: Any = get_session()
    endpoint = str(constants.ENDPOINT)
    answers: list[int | str] = []
    asking = threading.Thread(target=lambda: answers.append(_status(session, endpoint)), daemon=True)
    asking.start()
    asking.join(DEADLINE_SECONDS)
    answer = answers[0] if answers else f"nothing in {DEADLINE_SECONDS:.0f} s"
    if isinstance(answer, str):
        return f"{endpoint} does not answer ({answer}); check the network"
    if answer in _REFUSED or answer >= 500:
        return f"{endpoint} answers {answer}; check the network and its proxies, or try again later"
    return ""


def _status(session: Any, endpoint: str) -> int | str:
    """What a server answers, or why it does not."""
    try:
        return int(session.head(endpoint, timeout=TIMEOUT_SECONDS).status_code)
    except Exception as error:  # noqa: BLE001 - huggingface_hub changed its client, and clients their errors
        return one_line(error, 100)


def cached_folder(name: str) -> Path | None:
    """The folder in the hub's cache on this machine that has a model's files, if there is one."""
    from huggingface_hub import try_to_load_from_cache

    for file in ("config.json", "tokenizer.json"):
        try:
            found = try_to_load_from_cache(name, file)
        except ValueError:  # no name of a repository
            return None
        if isinstance(found, str):
            return Path(found).parent
    return None


def is_dataset_cached(name: str) -> bool:
    """Whether something of a dataset is in the hub's cache, or in that of the package `datasets`."""
    from huggingface_hub import constants

    own = os.environ.get("HF_DATASETS_CACHE") or Path(constants.HF_HOME, "datasets")
    shared = Path(constants.HF_HUB_CACHE, f"datasets--{name.replace('/', '--')}")
    return shared.is_dir() or Path(own, name.replace("/", "___")).is_dir()
