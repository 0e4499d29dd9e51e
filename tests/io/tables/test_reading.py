"""Damage to tables that is found behind their heads."""

import io

import numpy as np
import pytest

import kinetree as kt
from kinetree.io.tables.reading import open_table

pyarrow = pytest.importorskip("pyarrow")
import pyarrow.parquet as parquet  # noqa: E402

WANTED = {"q": ["a"]}


def read(path):
    return [part.read() for part in open_table(path, WANTED).parts()]


def test_pages_of_parquet_that_are_damaged(tmp_path):
    parquet.write_table(pyarrow.table({"q_a": np.arange(1000.0)}), tmp_path / "t.parquet", compression="none")
    data = bytearray((tmp_path / "t.parquet").read_bytes())
    data[4:40] = bytes(range(200, 236))
    (tmp_path / "t.parquet").write_bytes(data)
    with pytest.raises(kt.FileFormatError, match="cannot be read beyond row 0"):
        read(tmp_path / "t.parquet")


def test_names_of_parquet_that_are_no_text(tmp_path):
    stream = io.BytesIO()
    parquet.write_table(pyarrow.table({"q_a": np.arange(3.0), "zzzz": np.arange(3.0)}), stream, store_schema=False)
    (tmp_path / "t.parquet").write_bytes(stream.getvalue().replace(b"zzzz", b"\xff\xfe\xff\xfe"))
    with pytest.raises(kt.FileFormatError, match="no Parquet file"):
        read(tmp_path / "t.parquet")


@pytest.mark.parametrize("time", [np.arange(3) + 1j, np.array(["a", "b", "c"]), np.arange(2.0), np.array(1.0)])
def test_times_of_arrays_that_are_no_times(tmp_path, time):
    np.savez(tmp_path / "t.npz", q=np.zeros((3, 1)), time=time)
    with pytest.raises(kt.FileFormatError, match="array 'time' must be numbers of shape"):
        read(tmp_path / "t.npz")
