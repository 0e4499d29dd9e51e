"""Settings for all tests."""

import faulthandler
import gc
import os
import sys
import tempfile
from pathlib import Path

# Most tests judge the algorithms themselves and make hundreds of small robots, for each of which
# compiling would cost more than computing. What is compiled is compared with this in evaluation/test_forms.py.
os.environ.setdefault("KINETREE_BACKEND", "reference")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # there is one process per core already
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("KINETREE_CACHE", os.path.join(tempfile.gettempdir(), "kinetree-test-cache"))

import pytest
from hypothesis import settings

import kinetree as kt

# Where Python may not keep byte code, each process compiles kinetree and all tests anew: more than half of its start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

settings.register_profile("kinetree", deadline=None, derandomize=True, print_blob=False)
settings.load_profile("kinetree")


HERE = Path(__file__).parent
MEASURED = {mark: set((HERE / f"{mark}_tests.txt").read_text("utf-8").splitlines()) for mark in ("slow", "thorough")}
"""What ``make measure-tests`` found: functions, or cases of functions, to be marked."""


def pytest_collection_modifyitems(items):
    """Mark what is slow by measurement; what is slow by nature says so itself."""
    for item in items:
        for mark, names in MEASURED.items():
            if names & {item.nodeid, item.nodeid.partition("[")[0]}:
                item.add_marker(mark)
    # tests of a group share work, which a fast and a slow one would do in both runs
    group = {item: mark.args[0] for item in items if (mark := item.get_closest_marker("xdist_group"))}
    slow = {name for item, name in group.items() if item.get_closest_marker("slow")}
    for item, name in group.items():
        if name in slow:
            item.add_marker("slow")


def pytest_collection_finish():
    """Spare the collector of garbage what lives as long as the process: libraries and ten thousand tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def no_hang():
    """End the process, with a traceback, if a test takes more than a minute."""
    faulthandler.dump_traceback_later(60, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def two_arms(tmp_path):
    """The same arm on a fixed and on a floating base, and its record; and one with other names."""

    def made(first="shoulder", floating=False):
        b = kt.Builder("arm")
        b.add_body("base", kt.MassProperties.box(5.0, (1, 1, 1)))
        b.body("upper", "base", kt.Revolute("y"), joint_name=first, mass=1, com=(0, 0, -0.5))
        b.body("lower", "upper", kt.Revolute("y"), joint_name="elbow", mass=1, com=(0, 0, -0.5), position=(0, 0, -1))
        return b.build(floating_base=floating)

    robots = {"fixed": made(), "floating": made(floating=True), "other": made("hip")}
    for name, robot in robots.items():
        kt.simulate(robot, time=0.1, samples=5).save(tmp_path / f"{name}.npz")
        robot.save(tmp_path / f"{name}.yaml")
    robots["fixed"].save(tmp_path / "arm.urdf")
    return tmp_path, robots
