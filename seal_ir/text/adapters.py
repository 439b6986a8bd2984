"""Folders of LoRA adapters: what they say of themselves. No torch in here; `lm.load` adds them up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from seal_ir.errors import ModelError

CONFIG = "adapter_config.json"


def base_of(folder: Path) -> str | None:
    """Name of the base model of an adapter folder, a relative path being inside it; None for other folders.

    Raises:
        ModelError: the folder's configuration names no base model.
    """
    if not (folder / CONFIG).is_file():
        return None
    name = adapter_config(folder).get("base_model_name_or_path")
    if not isinstance(name, str) or not name:
        raise ModelError(f"{folder / CONFIG}: names no base model; write it under base_model_name_or_path")
    return str(folder / name) if name.startswith(("./", "../")) else name


def adapter_config(folder: Path) -> dict[str, Any]:
    """What peft wrote of an adapter.

    Raises:
        ModelError: it cannot be read.
    """
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder / CONFIG}: cannot be read ({error})") from error
    if not isinstance(config, dict):
        raise ModelError(f"{folder / CONFIG}: is no JSON object")
    return config
