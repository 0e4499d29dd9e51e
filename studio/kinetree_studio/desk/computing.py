"""Runs that the studio computes for its page: with progress, and so that they can be ended."""

from __future__ import annotations

import threading
import time as clock
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import KinetreeError
from kinetree.model.formats import yaml as yaml_format
from kinetree.model.formats.source import Options, Source
from kinetree.robot.make import make
from kinetree.robot.robot import Robot

from ..project.designed import DesignedRun, report
from ..project.planned_motion import PlannedMotion
from ..project.run_code import RunProblem, run_parts
from ..project.run_curves import RunCurves, of_motion, of_record
from ..project.run_kinds import run_of
from ..project.runs import StudioRun
from ..project.simulated import SimulatedRun
from ..project.swept import SweptRun, varied
from ..project.tried_numbers import changed_parameters
from ..view.page import packed

INTERRUPTED = "interrupted"


class Job:
    """Something that is being computed.

    Attributes
    ----------
    done : float
        The part of it that is done, from 0 to 1.
    said : str
        What is being done.
    ended : bool
        Whether somebody wants it to end.
    """

    def __init__(self) -> None:
        self.done, self.said, self.ended = 0.0, "", False

    def tell(self, done: float, said: str = "") -> None:
        """Say how far it is; end it if that is wanted."""
        if self.ended:
            raise KeyboardInterrupt
        self.done, self.said = done, said


class Jobs:
    """What is being computed, by names that the page gave; a new one ends those before it."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def begin(self, name: str) -> Job:
        """Begin one."""
        with self._lock:
            for other in self._jobs.values():
                other.ended = True
            made = self._jobs[name] = Job()
        return made

    def over(self, name: str) -> None:
        """Forget one that is done."""
        with self._lock:
            self._jobs.pop(name, None)

    def progress(self, name: str) -> dict[str, Any]:
        """Return how far one is."""
        job = self._jobs.get(name)
        return {"done": job.done, "said": job.said} if job else {"done": 1.0, "said": ""}

    def cancel(self, name: str) -> None:
        """End one, at its next step."""
        with self._lock:
            if job := self._jobs.get(name):
                job.ended = True


@lru_cache(maxsize=4)
def robot_of(text: str) -> Robot:
    """Return the robot of a text: of the design that is kept beside the one that is open."""
    return make(yaml_format.read(Source(Path("robot.yaml"), text.encode()), Options()))


def computed(run: StudioRun, robot: Robot, job: Job) -> dict[str, Any]:
    """Compute a run; return what the page shows of it.  A mistake is a :class:`RunProblem`."""
    begin = clock.perf_counter()
    try:
        if isinstance(run, SweptRun):
            content, notes = _swept(run, robot, job)
        elif isinstance(run, DesignedRun):
            content, notes = _designed(run, robot, job)
        else:
            curves, notes = _curves(run, robot, job)
            content = curves.content()
    except RunProblem:
        raise
    except KinetreeError as problem:
        raise RunProblem(str(problem), run.KIND) from problem
    return {"content": content, "notes": notes, "seconds": clock.perf_counter() - begin}


def _curves(run: StudioRun, robot: Robot, job: Job) -> tuple[RunCurves, list[str]]:
    if isinstance(run, PlannedMotion):
        space, notes = run_parts(run.parts("robot", robot), {"robot": robot})
        found = of_motion(space.get("tried", robot), space)
        if not np.isfinite(found.tau).all():
            raise RunProblem("the motion passes a position in which its forces have no bound: a dead point", "motion")
        if robot.is_floating:
            notes.append("The base is held where it is: let it move freely in a simulation.")
        return found, notes
    assert isinstance(run, SimulatedRun)
    tell = _of_time(job, run.seconds)
    space, notes = run_parts(run.parts("robot", robot, told="told"), {"robot": robot}, tell)
    record = space["record"]
    if record.status == INTERRUPTED:
        notes = [note for note in notes if INTERRUPTED not in note]
    changed = changed_parameters(robot, run.values)
    own = space.get("tried") or (robot.with_parameters(changed) if changed else robot)
    found, more = of_record(own, record, space.get("goal"), run.ground == "shapes")
    return found, [*notes, *more]


def _swept(run: SweptRun, robot: Robot, job: Job) -> tuple[dict[str, Any], list[str]]:
    count = int(np.prod(run.counts))
    simulated = run.of if isinstance(run.of, SimulatedRun) else None
    tell = _of_time(job, simulated.seconds) if simulated else lambda k: job.tell(k / count, f"{k} of {count} designs")
    space, notes = run_parts(run.parts("robot", robot, told="told"), {"robot": robot}, tell)
    if job.ended:
        raise KeyboardInterrupt
    value = np.broadcast_to(np.asarray(space["value"], dtype=float), (count,))
    known = varied(robot, simulated is not None)
    lost = int(np.sum(~np.isfinite(value)))
    if lost == count:
        raise RunProblem("none of these designs can make the motion: choose other ends", "sweep")
    if lost:
        notes.append(f"{lost} of {count} designs cannot make the motion, and are left out.")
    axes = [
        {"name": name, "unit": known[name]["unit"], "values": np.linspace(low, high, int(n))}
        for name, low, high, n in zip(run.numbers, run.lows, run.highs, run.counts, strict=True)
    ]
    return {"axes": axes, "measure": run.measure, "unit": run.unit(robot), "value": value}, notes


def _designed(run: DesignedRun, robot: Robot, job: Job) -> tuple[dict[str, Any], list[str]]:
    def tell(best: Any) -> None:
        job.tell(best.done / max(best.total, 1), best.text)

    space, notes = run_parts(run.parts("robot", robot, told="told"), {"robot": robot}, tell)
    found = space["found"]
    return report(found) | {"text": yaml_format.write(found.robot.model)}, notes


def _of_time(job: Job, seconds: float) -> Callable[[float], None]:
    return lambda t: job.tell(t / seconds, f"{t:.3g} of {seconds:.6g} s")


class RunDesk:
    """Answers of the studio that take long; they do not keep others waiting.

    snapshot: Returns the document's text and robot.
    remember: Called with the content of a run that was computed for a text.
    """

    def __init__(
        self, snapshot: Callable[[], tuple[str, Robot]], remember: Callable[[Mapping[str, Any], str], None]
    ) -> None:
        self.snapshot, self.remember, self.jobs = snapshot, remember, Jobs()

    def compute(self, news: Mapping[str, Any]) -> dict[str, Any]:
        """Compute a run of the robot that is open, and of a design beside it."""
        text, robot = self.snapshot()
        name = str(news.get("job", ""))
        job = self.jobs.begin(name)
        try:
            run = run_of({**news["run"], "text": text}, robot)
            found = computed(run, robot, job)
            beside = self._beside(news, job)
        except RunProblem as problem:
            return {"problem": str(problem), "where": problem.where}
        except KeyboardInterrupt:
            return {"ended": True}
        finally:
            self.jobs.over(name)
        if news.get("keep", True):
            self.remember(news["run"], text)
        return {
            "result": packed(found["content"]), "notes": found["notes"], "seconds": found["seconds"],
            "ended": job.ended, **beside,
        }  # fmt: skip

    def _beside(self, news: Mapping[str, Any], job: Job) -> dict[str, Any]:
        other = news.get("beside")
        if not isinstance(other, Mapping):
            return {}
        try:
            robot = robot_of(str(other["text"]))
            run = run_of({**news["run"], **other["run"], "text": str(other["text"])}, robot)
            found = computed(run, robot, job)
        except (KinetreeError, ValueError, TypeError) as problem:
            return {"besideProblem": str(problem)}
        return {"beside": packed(found["content"])}

    def progress(self, news: Mapping[str, Any]) -> dict[str, Any]:
        """Say how far a run is."""
        return self.jobs.progress(str(news.get("job", "")))

    def cancel(self, news: Mapping[str, Any]) -> dict[str, Any]:
        """End a run; what was computed of a simulation is kept."""
        self.jobs.cancel(str(news.get("job", "")))
        return {}
