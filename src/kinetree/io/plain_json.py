"""Results as JSON: arrays as lists, and null for numbers that JSON does not have."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np


def json_text(data: Any) -> str:
    """Return data as indented JSON with a final line end; unprintable characters in names are escaped."""
    text = json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False)
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
    return text + "\n"


def plain(value: Any) -> Any:
    """Return a value in a form that JSON has: null for numbers that are not finite, text for unknown types."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)
