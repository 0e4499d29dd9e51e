"""Results as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from kinetree.io.plain_json import json_text, plain


def test_what_json_does_not_have_becomes_what_it_has():
    given = {1: np.array([1.0, np.nan]), "n": np.int64(3), "b": np.bool_(True), "t": (np.inf, None), "p": Path("x")}
    assert plain(given) == {"1": [1.0, None], "n": 3, "b": True, "t": [None, None], "p": "x"}
    assert json.loads(json_text(given)) == plain(given)
    assert json_text({"a": "é"}) == '{\n  "a": "é"\n}\n'
