"""Dynamics of tables into folders: the same numbers as of arrays, and nothing is done twice."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.sweeps import over_table
from kinetree_sweeps.motion_tables import dynamics_by_rows

pyarrow = pytest.importorskip("pyarrow")
import pyarrow.parquet as parquet  # noqa: E402


@pytest.fixture(scope="module")
def arm():
    b = kt.Builder("arm").body("upper", "base", kt.Revolute("y"), mass=2, com=(0, 0, 0.5))
    return b.body("lower", "upper", kt.Revolute("y"), position=(0, 0, 1), mass=1, com=(0, 0, 0.4)).build()


@pytest.fixture
def source(arm, tmp_path, monkeypatch):
    """A table of 1000 rows in ten groups, and what becomes of it three files."""
    monkeypatch.setattr(dynamics_by_rows, "PART_ROWS", 400)
    q, v, a = np.random.default_rng(0).standard_normal((3, 1000, 2))
    columns = {
        f"{key}_{name}": x[:, k] for key, x in (("q", q), ("v", v), ("a", a)) for k, name in enumerate(arm.v_names)
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "motion.parquet", row_group_size=100)
    return tmp_path / "motion.parquet", arm.inverse_dynamics(q, v, a)


def numbers(path):
    files = sorted(path.glob("part-*.parquet")) if path.is_dir() else [path]
    table = pyarrow.concat_tables([parquet.read_table(file) for file in files])
    return np.stack([table.column(name).to_numpy() for name in table.column_names], axis=1)


def test_folder_holds_the_same_numbers_and_goes_on_where_it_was(arm, source, tmp_path):
    motion, tau = source
    done = over_table(arm, "inverse_dynamics", motion, tmp_path / "tau")
    assert (done.rows, done.skipped) == (1000, 0)
    assert np.array_equal(numbers(tmp_path / "tau"), tau)
    assert [parquet.read_metadata(x).num_rows for x in sorted((tmp_path / "tau").glob("part*"))] == [400, 400, 200]
    kept = (tmp_path / "tau" / "part-000000.parquet").stat().st_mtime_ns
    (tmp_path / "tau" / "part-000001.parquet").unlink()
    again = over_table(arm, "inverse_dynamics", motion, tmp_path / "tau")
    assert (again.rows, again.skipped) == (400, 600)
    assert (tmp_path / "tau" / "part-000000.parquet").stat().st_mtime_ns == kept
    assert np.array_equal(numbers(tmp_path / "tau"), tau)


def test_folder_is_read_as_one_table(arm, source, tmp_path):
    motion, tau = source
    (tmp_path / "motions").mkdir()
    for k in (1, 2):
        (tmp_path / "motions" / f"m{k}.parquet").write_bytes(motion.read_bytes())
    assert over_table(arm, "inverse_dynamics", tmp_path / "motions", tmp_path / "two.parquet").rows == 2000
    assert np.array_equal(numbers(tmp_path / "two.parquet"), np.concatenate([tau, tau]))
    over_table(arm, "inverse_dynamics", tmp_path / "motions", tmp_path / "two")
    assert np.array_equal(numbers(tmp_path / "two"), np.concatenate([tau, tau]))


def test_bad_input(arm, source, tmp_path):
    motion, _ = source
    over_table(arm, "inverse_dynamics", motion, tmp_path / "tau")
    with pytest.raises(kt.OptionError, match="another table, robot or method"):
        over_table(arm.with_parameters({"lower.M": 3.0}), "inverse_dynamics", motion, tmp_path / "tau")
    with pytest.raises(kt.UnknownNameError, match="inverse_dynamics"):
        over_table(arm, "inverse_dynamic", motion, tmp_path / "tau")
    with pytest.raises(kt.OptionError, match="no extension"):
        over_table(arm, "inverse_dynamics", motion, tmp_path / "tau.txt")
    with pytest.raises(kt.MissingFileError, match="no file"):
        over_table(arm, "inverse_dynamics", tmp_path / "none.parquet", tmp_path / "new")
    (tmp_path / "empty").mkdir()
    with pytest.raises(kt.MissingFileError, match=r"no \.parquet file"):
        over_table(arm, "inverse_dynamics", tmp_path / "empty", tmp_path / "new")
    (tmp_path / "empty" / "mine").write_text("")
    with pytest.raises(kt.OutputError, match="something else"):
        over_table(arm, "inverse_dynamics", motion, tmp_path / "empty")
