"""Whole tables as files."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.io.tables.formats import format_of
from kinetree.io.tables.reading import csv_numbers
from kinetree.io.tables.writing import csv_text, write_parquet


def test_csv_keeps_every_digit_and_quotes_where_it_must():
    columns = {"a, b": np.array([0.1, 1.0 / 3.0, np.nan]), "n": [1, 2, 3], "word": ["x", 'y "z"', ""]}
    first, names, *rows = csv_text(columns, "# above").splitlines()
    assert (first, names) == ("# above", '"a, b",n,word')
    assert rows == ["0.1,1,x", '0.3333333333333333,2,"y ""z"""', "nan,3,"]


def test_numbers_written_are_numbers_read(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    x = np.random.default_rng(0).standard_normal(50) * 10.0 ** np.arange(-25, 25)
    text = csv_text({"x": x, "y": -x}).partition("\n")[2]
    read = csv_numbers(text.encode(), 2, [1])
    assert list(read) == [1]
    assert np.array_equal(read[1], -x)
    assert csv_numbers(b"1,two\n", 2, [0, 1]) is None
    write_parquet(tmp_path / "x.parquet", {"x": x}, {"about": "it"})
    table = parquet.read_table(tmp_path / "x.parquet")
    assert np.array_equal(table.column("x").to_numpy(), x)
    assert table.schema.metadata[b"about"] == b"it"


def test_endings(tmp_path):
    assert format_of(tmp_path / "X.CSV") == ".csv"
    with pytest.raises(kt.OptionError, match=r"^records are so, not 'without ending': .*x$"):
        format_of(tmp_path / "x", "records are so")
