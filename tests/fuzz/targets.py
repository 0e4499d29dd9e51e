"""What is fuzzed: each target makes a case out of a random generator, and does with it what a user would."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from kinetree.io.tables.reading import open_table
from kinetree.studies import user_study

from . import seeds
from .mutation import BYTES, TEXT, Mutation, mutated, pick
from .trees import changed_xml, changed_yaml

Case = tuple[Any, Callable[[], None]]
"""What the case consists of, for a report, and what is done with it."""


@dataclass(frozen=True)
class Target:
    """Something that takes what others wrote.

    Attributes
    ----------
    name : str
    case : callable
        Makes a case in a folder out of a random generator.
    cases : int
        How many are run as a part of the tests.
    """

    name: str
    case: Callable[[np.random.Generator, Path], Case]
    cases: int


# ------------------------------------------------------------------ robots


def use(robot: kt.Robot, rng: np.random.Generator) -> None:
    """Do with a robot what everybody does; it may be a mechanism that cannot be closed."""
    robot.describe()
    q, v = robot.neutral(), 0.1 * rng.standard_normal(robot.nv)
    if isinstance(robot, kt.Mechanism):
        robot.closure_error(q)
        return
    robot.mass_matrix(q)
    robot.inverse_dynamics(q, v, v)
    robot.pose(q, robot.frame_names[-1])


def loaded_again(load: Callable[[Path], Any], path: Path) -> Any:
    """Read what was written a moment ago, which must be possible."""
    try:
        return load(path)
    except kt.KinetreeError as problem:
        raise AssertionError(f"what was saved cannot be loaded: {problem}") from problem


def damaged(data: bytes, change: Mutation, rng: np.random.Generator) -> bytes:
    """Damage a document: two of three times so that it stays good XML or YAML, which gets farther."""
    if not rng.integers(3):
        return mutated(data, rng)
    try:
        return change(data, rng)
    except (ValueError, IndexError, KeyError):  # a second change to what the first one took away
        return mutated(data, rng)


def robot_files(goods: tuple[bytes, ...], change: Mutation, ending: str) -> Callable[[np.random.Generator, Path], Case]:
    def case(rng: np.random.Generator, folder: Path) -> Case:
        data = damaged(pick(rng, goods), change, rng)
        path = folder / f"robot{ending}"
        path.write_bytes(data)
        options: dict[str, Any] = pick(
            rng, ({}, {}, {"floating_base": True}, {"mimic": "independent"}, {"strict": True})
        )

        def done() -> None:
            robot = kt.load(path, **options)
            robot.save(folder / "again.yaml")
            again = loaded_again(kt.load, folder / "again.yaml")
            assert again.model == robot.model, "read back it is another"
            use(robot, rng)

        return data, done

    return case


def side_files(rng: np.random.Generator, folder: Path) -> Case:
    good = b"kinetree: 1\nloops:\n  - {name: pin, kind: revolute, predecessor: coupler, successor: rocker,\n"
    good += b"     placement: {position: [0.4, 0, 0]}, seat: {position: [0.3, 0, 0]}}\npassive: [b, c]\ncuts: [pin]\n"
    data = damaged(pick(rng, (good, seeds.LOOP_LIST)), changed_yaml, rng)
    text = seeds.URDF_LOOP.decode()
    begin, end = text.index("<kinetree:loop"), text.index("</robot>")
    (folder / "robot.urdf").write_text(text[:begin] + text[end:])
    (folder / "loops.yaml").write_bytes(data)
    return data, lambda: use(kt.load(folder / "robot.urdf", loops=folder / "loops.yaml"), rng)


GOOD_ROWS = {
    "modified": [{"alpha": 0.0, "a": 0.0, "d": 0.4, "theta": 0.0, "mass": 2.0, "com": (0, 0, 0.1)},
                 {"alpha": 1.5, "a": 0.3, "d": 0.0, "theta": 0.1, "joint": "prismatic", "mass": 1.0, "lower": -1}],
    "standard": [{"alpha": 1.5, "a": 0.1, "b": 0.4, "theta": 0.0, "mass": 1.0, "name": "one", "joint_name": "j"},
                 {"alpha": 0.0, "a": 0.3, "d": 0.0, "theta": 0.1, "parent": "one", "mass": 1.0, "damping": 0.1}],
    "khalil": [{"antecedent": 0, "sigma": 0, "alpha": 0.0, "d": 0.1, "theta": 0.0, "r": 0.2, "mass": 1.0, "mu": 1},
               {"antecedent": 1, "sigma": 1, "gamma": 0.1, "b": 0.1, "mass": 1.0, "rotor_inertia": 0.1}],
}  # fmt: skip

ODD_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 3, 10**400, -(10**30), 2**63, 1.5, float("nan"), float("inf"), 1e308, 5e-324, 1j, "", "x", "1",
    "base", "one", "revolute", b"bytes", (), [], [1, 2], [[1, 2], [3]], {}, {"a": 1}, {1, 2}, object(), len,
    np.array([1.0, 2.0]), np.array([]), np.array("text"), np.float32(1.5), np.int64(2),
    np.array(None), np.zeros((3, 3)), np.eye(3), np.nan,
    ["a", "b"], "\ud800", "a\nb", range(3), kt.Spherical(), kt.Revolute, kt.MassProperties(), np.datetime64("now"),
    [1, 10**400, 0], np.bool_(True), np.array([1, 2, 3], dtype=object), memoryview(b"x"), Ellipsis, slice(1), 1e-320,
)  # fmt: skip


def par_files(rng: np.random.Generator, folder: Path) -> Case:
    """Files of SYMORO, of numbers and of symbols; what is written must be read as the same robot."""
    data = mutated(pick(rng, seeds.PAR), rng, TEXT)
    path = folder / "robot.par"
    path.write_bytes(data)
    values = pick(rng, (None, None, {"D3": 0.4}, {"RL4": 0.3, "D3": 0.0}))

    def done() -> None:
        robot = kt.load(path, values=values)
        robot.describe()
        robot.save(folder / "again.par")
        again = loaded_again(kt.load, folder / "again.par")
        assert again.symbols == robot.symbols, "read back it has other symbols"
        use(robot, rng)

    return data, done


def dh_tables(rng: np.random.Generator, folder: Path) -> Case:
    convention = pick(rng, tuple(GOOD_ROWS))
    rows: list[Any] = [dict(row) for row in GOOD_ROWS[convention]]
    options: dict[str, Any] = {}
    known = {key for other in GOOD_ROWS.values() for row in other for key in row} | {
        "about",
        "actuated",
        "mass_properties",
    }
    for _ in range(int(rng.integers(1, 4))):
        how, odd = int(rng.integers(10)), pick(rng, ODD_VALUES)
        row = pick(rng, rows)
        if how < 6 and isinstance(row, dict):
            row[pick(rng, (*row, *sorted(known)))] = odd
        elif how == 6:
            options[pick(rng, ("name", "base", "gravity", "degrees", "strict"))] = odd
        elif how == 7:
            rows[int(rng.integers(len(rows)))] = odd
        elif how == 8 and isinstance(row, dict):
            row[pick(rng, ODD_VALUES[4:20])] = odd
    table: Any = rows if rng.integers(20) else pick(rng, ODD_VALUES)
    named: Any = convention if rng.integers(20) else pick(rng, ODD_VALUES)
    return (table, named, options), lambda: use(kt.from_dh(table, named, **options), rng)


# ------------------------------------------------------------------ tables and records


def _arrays_changed(arrays: dict[str, Any], rng: np.random.Generator) -> bytes:
    """Damage to the arrays of a file: their shapes, types, names and numbers."""
    for _ in range(int(rng.integers(1, 4))):
        name = pick(rng, sorted(arrays))
        array = arrays[name]
        how = int(rng.integers(9))
        if how == 0:
            del arrays[name]
            arrays = arrays or {"x": np.zeros(1)}
        elif how == 1 and array.ndim:
            arrays[name] = array[: int(rng.integers(len(array) + 1))]
        elif how == 2:
            arrays[name] = array.astype(pick(rng, ("f4", "i4", "U8", "c16", "?", "S4", "f2", "u1")), copy=True)
        elif how == 3:
            arrays[name] = array[None] if rng.integers(2) else array.T
        elif how == 4 and array.size and array.dtype.kind == "f":
            array = array.copy()
            array.flat[int(rng.integers(array.size))] = pick(rng, (np.nan, np.inf, 1e308, -1.0, 0.0))
            arrays[name] = array
        elif how == 5:
            arrays[pick(rng, ("time", "q", "v", "a", "tau", "about", "z", "x", "energy:kinetic"))] = array
        elif how == 6:
            arrays[name] = pick(
                rng, (np.zeros(0), np.zeros((0, 3)), np.array(1.0), np.array("x"), np.zeros((2, 2, 2, 2)))
            )
        elif how == 7:
            arrays[name] = np.repeat(array, 2, axis=-1) if array.ndim else array
        elif "about" in arrays:
            arrays["about"] = np.array(mutated(str(arrays["about"]).encode(), rng).decode("utf-8", "replace"))
    stream = io.BytesIO()
    with np.errstate(all="ignore"):
        np.savez(stream, **arrays)
    return stream.getvalue()


ODD_JSON = (None, 0, -1, 1e308, 10**30, "", "x\ny", [], {}, [1], ["a"], True, "\ud800", [[]], {"a": []})


def _description_changed(about: Any, rng: np.random.Generator) -> Any:
    """Damage to the description of a record, of which the JSON stays good."""
    places: list[tuple[Any, Any]] = []
    waiting = [about]
    while waiting:
        item = waiting.pop()
        keys = list(item) if isinstance(item, dict) else range(len(item))
        places += [(item, key) for key in keys]
        waiting += [item[key] for key in keys if isinstance(item[key], (dict, list)) and item[key]]
    for _ in range(int(rng.integers(1, 4))):
        item, key = pick(rng, places)
        item[key] = pick(rng, ODD_JSON)
    return about


def _npz_changed(data: bytes, rng: np.random.Generator) -> bytes:
    how = int(rng.integers(3))
    if how == 0:
        return mutated(data, rng, BYTES)
    arrays = seeds.plain_arrays(data)
    if how == 1 and "about" in arrays:
        arrays["about"] = np.array(json.dumps(_description_changed(seeds.about(arrays), rng)))
        stream = io.BytesIO()
        np.savez(stream, **arrays)
        return stream.getvalue()
    if how == 1:  # damage within the archive, whose checksums are good
        stream = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w") as new:
            for name in old.namelist():
                content = old.read(name)
                new.writestr(name, mutated(content, rng, BYTES) if not rng.integers(3) else content)
        return stream.getvalue()
    return _arrays_changed(arrays, rng)


def _parquet_changed(data: bytes, rng: np.random.Generator) -> bytes:
    import pyarrow
    import pyarrow.parquet

    if not rng.integers(2):
        return mutated(data, rng, BYTES)
    table = pyarrow.parquet.read_table(io.BytesIO(data))
    metadata = dict(table.schema.metadata or {})
    for _ in range(int(rng.integers(1, 3))):
        k, how = int(rng.integers(table.num_columns)), int(rng.integers(6))
        name, count = table.column_names[k], table.num_rows
        if how == 0:
            table = table.drop_columns([name])
        elif how == 1:
            kinds = (["x"] * count, [None] * count, [[1.0]] * count, [True] * count, [b"x"] * count, list(range(count)))
            table = table.set_column(k, name, pyarrow.array(pick(rng, kinds)))
        elif how == 2:
            table = table.rename_columns(
                [pick(rng, table.column_names) if i == k else n for i, n in enumerate(table.column_names)]
            )
        elif how == 3:
            table = table.slice(0, int(rng.integers(count + 1)))
        elif how == 4 and b"kinetree" in metadata:
            metadata[b"kinetree"] = mutated(metadata[b"kinetree"], rng)
        elif b"kinetree" in metadata:
            metadata[b"kinetree"] = json.dumps(_description_changed(json.loads(metadata[b"kinetree"]), rng)).encode()
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table.replace_schema_metadata(metadata or None), stream)
    return stream.getvalue()


CHANGES: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    ".csv": lambda data, rng: mutated(data, rng, TEXT),
    ".mat": lambda data, rng: mutated(data, rng, BYTES),
    ".npz": _npz_changed,
    ".parquet": _parquet_changed,
}


def _changed(path: str, data: bytes, rng: np.random.Generator) -> bytes:
    try:
        return CHANGES[Path(path).suffix](data, rng)
    except (ValueError, TypeError, KeyError):  # what cannot be written, or read any more after a first change
        return mutated(data, rng, BYTES)


class Tables:
    """Tables of motions, and records: made once, damaged often."""

    def __init__(self) -> None:
        self.robot: kt.Robot | None = None
        self.files: dict[str, bytes] = {}

    def prepare(self, folder: Path) -> kt.Robot:
        if self.robot is None:
            self.robot = seeds.small_robot()
            self.files = seeds.motions(self.robot) | seeds.records(self.robot, folder)
        return self.robot

    def motions(self, ending: str) -> Callable[[np.random.Generator, Path], Case]:
        def case(rng: np.random.Generator, folder: Path) -> Case:
            robot = self.prepare(folder)
            name = pick(rng, [n for n in self.files if n.endswith(ending) and not n.startswith("measured")])
            data = _changed(name, self.files[name], rng)
            path = folder / f"motion{ending}"
            path.write_bytes(data)
            wanted = {"q": robot.q_names, "v": robot.v_names, "a": robot.v_names}

            def done() -> None:
                for part in open_table(path, wanted).parts():
                    rows = part.read()
                    if len(rows):
                        robot.inverse_dynamics(*rows.arrays)

            return data, done

        return case

    def measured(self, rng: np.random.Generator, folder: Path) -> Case:
        robot = self.prepare(folder)
        data = mutated(self.files["measured.csv"], rng)
        (folder / "measured.csv").write_bytes(data)
        return data, lambda: repr(kt.Measured.read(folder / "measured.csv", robot)) and None

    def records(self, rng: np.random.Generator, folder: Path) -> Case:
        robot = self.prepare(folder)
        name = pick(rng, [n for n in self.files if n.startswith("record")])
        data = _changed(name, self.files[name], rng)
        path = folder / name
        path.write_bytes(data)
        known = bool(rng.integers(2))

        def done() -> None:
            record = kt.Record.load(path, robot if known else None)
            repr(record)
            if len(record):
                record[-1]
                if known:
                    record.at((record.time[0] + record.time[-1]) / 2)
            record.save(folder / "again.npz")
            loaded_again(kt.Record.load, folder / "again.npz")
            if not record.batch:
                record.save(folder / "again.csv")
                loaded_again(kt.Record.load, folder / "again.csv")

        return data, done


def redysim_files(rng: np.random.Generator, folder: Path) -> Case:
    data = mutated(seeds.REDYSIM, rng)
    (folder / "inputs.m").write_bytes(data)
    return data, lambda: use(kt.load(folder / "inputs.m"), rng)


def studies(rng: np.random.Generator, folder: Path) -> Case:
    (folder / "arm.urdf").write_bytes(seeds.URDF_ARM)
    data = damaged(seeds.STUDY, changed_yaml, rng)
    (folder / "study.yaml").write_bytes(data)
    return data, lambda: user_study.read(folder / "study.yaml").analyses and None


TABLES = Tables()

TARGETS = {
    target.name: target
    for target in (
        Target("sdf", robot_files((seeds.SDF_LOOP,), changed_xml, ".sdf"), 200),
        Target("urdf", robot_files((seeds.URDF_ARM, seeds.URDF_LOOP), changed_xml, ".urdf"), 750),
        Target("yaml", robot_files((seeds.YAML_TREE, seeds.YAML_LOOP), changed_yaml, ".yaml"), 500),
        Target("mjcf", robot_files((seeds.MJCF_ARM, seeds.MJCF_LOOP), changed_xml, ".xml"), 500),
        Target("loops", side_files, 250),
        Target("redysim", redysim_files, 350),
        Target("par", par_files, 350),
        Target("spatial_v2", robot_files(seeds.spatial_v2(), lambda data, rng: mutated(data, rng, BYTES), ".mat"), 250),
        Target("dh", dh_tables, 1500),
        Target("csv", TABLES.motions(".csv"), 400),
        Target("npz", TABLES.motions(".npz"), 250),
        Target("mat", TABLES.motions(".mat"), 50),
        Target("parquet", TABLES.motions(".parquet"), 300),
        Target("measured", TABLES.measured, 150),
        Target("records", TABLES.records, 500),
        Target("studies", studies, 300),
    )
}

__all__ = ["TARGETS", "Mutation", "Target"]
