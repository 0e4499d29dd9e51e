"""The studio: what ``kt.studio`` and ``kinetree studio`` start."""

from __future__ import annotations

import html
import os
import re
import secrets
import tempfile
import threading
import warnings
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.resources import files as packaged
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import KinetreeError, KinetreeWarning, OptionError
from kinetree.model.dh.rows import DHRow
from kinetree.model.formats import yaml as yaml_format
from kinetree.model.joints import Fixed
from kinetree.robot.robot import Robot

from ..page.chosen_numbers import ChosenNumbers
from ..page.computing_page import SCRIPTS, SHARED_SCRIPTS, assembled, code_data, content, page
from ..page.kept_kernels import AT_ONCE, KeptKernels
from ..page.kernels import Kernels
from ..project.document import Document
from ..project.yaml_edits import composed, plain
from ..view.page import packed
from ..view.server import News, PageServer
from ..view.show import has_screen
from . import opening
from .computing import RunDesk
from .fields import fields, placed
from .lessons import fitted, lesson, listed, opened
from .offers import offers

STUDIO_PORT = 8090

LARGEST_UPLOAD = 80_000_000
"""Bytes of the largest message: dropped files."""

OWN_SCRIPTS = (
    "link.js", "start.js", "card.js", "handles.js", "frames.js", "drawing.js", "beside.js", "lesson.js", "played.js",
    "run_curves.js", "run_motion.js", "run_simulation.js", "run_sweep.js", "run_design.js", "run.js", "desk.js",
)  # fmt: skip

FORMATS = {"yaml": ".yaml", "urdf": ".urdf", "mjcf": ".xml", "sdf": ".sdf"}

BLANK = """\
kinetree: 1
name: robot
gravity: [0, 0, -9.81]
base: ground
bodies:
  - name: link
    parent: ground
    joint: {kind: revolute, axis: y}
    mass: 1
    com: [0.25, 0, 0]
    inertia: [0.001, 0.02, 0.02]
"""
"""What a new robot begins with: a pendulum, since a robot without bodies is none."""


class Studio:
    """A page on which a robot is built, moved and run; made by :func:`kinetree.studio`.

    Use it as a context manager, or close it when done.

    Parameters
    ----------
    document : Document or None
        What it opens with; the start page if None.
    folder : path
        The only folder in which it reads and writes files.
    port : int
        Port at which the page is served, or the next free one; 0 picks any.

    Attributes
    ----------
    document : Document or None
        The robot that is open: its text, its edits and its runs.
    url : str
        The address of the page, with a secret that changes every time.
    """

    def __init__(self, document: Document | None, folder: Path, port: int = STUDIO_PORT) -> None:
        self.document, self.folder = document, folder
        self._lock = threading.Lock()
        self._laws = KeptKernels()
        self._computing = RunDesk(self._snapshot, self._remember)
        self.server = PageServer(
            "127.0.0.1", port, self._page, dict, self.heard, token=secrets.token_urlsafe(24), largest=LARGEST_UPLOAD
        )

    @property
    def url(self) -> str:
        """The address of the page, with its secret."""
        return self.server.url

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def __repr__(self) -> str:
        name = "nothing" if self.document is None else repr(self.document.robot.name)
        return f"<Studio with {name} at {self.server.place}>"

    def close(self) -> None:
        """Stop serving."""
        self.server.close()
        self._laws.close()

    def wait(self) -> None:
        """Wait until it is closed, or for Ctrl-C."""
        try:
            while not self.server.closed.wait(1.0):
                pass
        except KeyboardInterrupt:
            pass

    # ------------------------------------------------------------------ the page

    def _page(self) -> str:
        own, shared, live = (packaged(f"kinetree_studio.{room}") / "web" for room in ("desk", "view", "page"))
        return assembled(
            own / "desk.html", [(shared, SHARED_SCRIPTS), (live, SCRIPTS), (own, OWN_SCRIPTS)],
            [(shared, ["page.css"]), (live, ["live.css"]), (own, ["desk.css", "run.css"])], connect="'self'",
        )  # fmt: skip

    def heard(self, news: News) -> News:
        """Answer a message of the page: ``{"do": ..., ...}``."""
        if news.get("do") == "laws":  # others need not wait for these
            made = self._laws.code(str(news["name"]))
            assert made is not None
            return {"laws": packed(code_data(made))}
        what = str(news.get("do"))
        slow = {"compute": self._computing.compute, "progress": self._computing.progress,
                "cancel": self._computing.cancel}.get(what)  # fmt: skip
        if slow is not None:
            return slow(news)
        does = self._answers().get(what)
        if does is None:
            raise OptionError(f"the studio does not know {news.get('do')!r}")
        with self._lock:
            return does(news)

    def _answers(self) -> dict[str, Callable[[News], News]]:
        return {
            "begin": self._begin, "picture": lambda news: opening.picture(str(news["name"])), "open": self._open,
            "edit": self._edit, "undo": lambda news: self._step(news, -1), "redo": lambda news: self._step(news, 1),
            "numbers": self._numbers, "run": self._run, "save": self._save, "take": self._take,
            "equations": self._equations, "assemblies": self._assemblies, "frames": self._frames,
            "lesson": self._lesson, "offers": self._offers,
        }  # fmt: skip

    @property
    def _open_document(self) -> Document:
        if self.document is None:
            raise OptionError("no robot is open")
        return self.document

    def _begin(self, news: News) -> News:
        found = {
            "cards": opening.cards(),
            "files": opening.files(self.folder),
            "lessons": listed(self.folder),
            "folder": str(self.folder),
        }
        return {**found, "fields": fields(), "desk": None if self.document is None else self._desk(news)}

    def _open(self, news: News) -> News:
        match news:
            case {"system": str(name)}:
                self.document = Document.open(name)
            case {"file": str(name)}:
                self.document = Document.open(opening.inside(self.folder, name))
            case {"dropped": Mapping() as contents}:
                self.document = opening.dropped(contents)
            case {"text": str(text)}:
                self.document = Document(text)
            case {"blank": True}:
                self.document = Document(BLANK)
            case _:
                raise OptionError("open a system of the gallery, a file, or something new")
        return self._desk(news)

    def _lesson(self, news: News) -> News:
        name = str(news["name"])
        found = lesson(self.folder, name)
        document = opened(self.folder, found["system"])
        fitted(found, document.robot, name)
        self.document = document
        return self._desk(news) | {"lesson": found}

    def _edit(self, news: News) -> News:
        document = self._open_document
        done = document.apply(news["edit"])
        return self._desk(news) | {"removed": done or []}

    def _step(self, news: News, by: int) -> News:
        document = self._open_document
        what = document.undo() if by < 0 else document.redo()
        return self._desk(news) | {"said": f"{'Undone' if by < 0 else 'Done again'}: {what}" if what else ""}

    def _numbers(self, news: News) -> News:
        """Put the numbers of sliders into the robot."""
        document = self._open_document
        values = {str(name): float(x) for name, x in news["values"].items()}
        changed = document.robot.with_parameters(ChosenNumbers(document.robot.model).parameters(values))
        before = document.text
        document.replace(yaml_format.write(changed.model), f"kept {', '.join(values)}")
        told = self._desk(news)
        lost = ["its comments"] if "#" in before else []
        lost += [name for key, name in LOST.items() if key in plain(composed(before)) and key not in told["content"]]
        if lost:
            told["notes"].append(f"The file is written anew, without {' and '.join(lost)}; undo brings that back.")
        return told

    def _snapshot(self) -> tuple[str, Robot]:
        with self._lock:
            document = self._open_document
            return document.text, document.robot

    def _remember(self, run: Mapping[str, Any], text: str) -> None:
        with self._lock:
            if self.document is not None and self.document.text == text:
                self.document.add_run(run)

    def _offers(self, news: News) -> News:
        """Say what can be computed with the robot, and what was computed last."""
        return offers(self._open_document, news.get("pose"))

    def _run(self, news: News) -> News:
        document = self._open_document
        if news.get("version", document.at) == document.at:  # else the robot has changed since
            document.add_run(news["run"])
        return {"runs": len(document.runs)}

    def _save(self, news: News) -> News:
        document = self._open_document
        name = str(news.get("file") or "")
        wanted = opening.inside(self.folder, name) if name else document.path
        if wanted is not None and wanted.exists() and wanted != document.path and not news.get("over"):
            return {"exists": name}
        path = document.save(wanted)
        return {"said": f"Saved {path}", "saved": True, "file": self._file()}

    def _take(self, news: News) -> News:
        document, form = self._open_document, str(news["form"])
        robot, stem = document.robot, document.path.stem if document.path else document.robot.name
        if form == "python":
            return {"name": f"{stem}.py", "text": document.script()}
        if form == "yaml":
            return {"name": f"{stem}.yaml", "text": document.text}
        if form == "page":
            return {"name": f"{stem}.html", "text": page(robot, geometry=document.geometry).html}
        if form not in FORMATS:
            raise OptionError(f"a robot is taken away as {', '.join([*FORMATS, 'page', 'python'])}, not {form!r}")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"robot{FORMATS[form]}"
            robot.save(path)
            return {"name": f"{stem}{FORMATS[form]}", "text": path.read_text(encoding="utf-8")}

    def _assemblies(self, news: News) -> News:
        """Return the ways to assemble a mechanism with some joints held where they are."""
        robot = self._open_document.robot
        found = robot.assemblies({str(name): float(x) for name, x in news["held"].items()}, rng=0)
        return {"q": found.q[:MOST_ASSEMBLIES].tolist(), "proven": bool(found.proven)}

    def _frames(self, news: News) -> News:
        """Return the Denavit-Hartenberg table of an arm, row by row."""
        robot = self._open_document.robot
        own = getattr(robot.model.table, "convention", "modified")
        table = robot.dh_table(str(news.get("convention") or ("standard" if own == "standard" else "modified")))
        factor, moving = (np.pi / 180.0 if table.degrees else 1.0), [j for j in robot.model.joints if j.nq]
        places, rows = iter(moving), []
        for k, row in enumerate(table.rows, start=1):
            assert isinstance(row, DHRow)
            moves = row.joint not in (None, "fixed") and not isinstance(row.joint, Fixed)
            joint = next(places, None) if moves else None
            rows.append({
                "name": row.name or f"link {k}", "theta": factor * row.theta, "alpha": factor * row.alpha,
                "d": row.d, "a": row.a, "q": -1 if joint is None else joint.q_slice.start,
                "moved": "" if joint is None else "d" if joint.kind.q_units[0] == "m" else "theta",
            })  # fmt: skip
        return {"convention": table.convention, "rows": rows}

    def _equations(self, news: News) -> News:
        robot = self._open_document.robot
        if robot.nv > MOST_FREEDOMS:
            raise OptionError(
                f"equations are shown of robots with up to {MOST_FREEDOMS} freedoms; this one has {robot.nv}"
            )
        made = robot.equations(simplify=robot.nv <= 2)
        return {"text": str(made), "formulas": formulas(made, robot.nv), "names": robot.v_names}

    # ------------------------------------------------------------------ what the page shows

    def _file(self) -> str:
        path = None if self.document is None else self.document.path
        return path.name if path is not None else ""

    def _desk(self, news: News) -> News:
        """Return the robot as the page shows it: what its scripts compute with, and what its cards say."""
        document = self._open_document
        answer: News = {
            "text": document.text, "content": plain(composed(document.text)), "name": document.robot.name,
            "notes": list(document.version.notes), "undo": document.version.edit if document.at else "",
            "redo": document.versions[document.at + 1].edit if document.at + 1 < len(document.versions) else "",
            "saved": document.is_saved, "file": self._file(), "problem": "", "robot": None,
            "bodies": list(document.robot.body_names), "base": document.robot.model.base.name,
            "joints": [joint.name for joint in document.robot.model.joints], "placed": placed(document.robot.model),
            "masses": {body.name: body.mass for body in document.robot.model.bodies}, "runs": len(document.runs),
            "version": document.at,
        }  # fmt: skip
        drawing = document.robot.model.drawing
        if drawing is not None:
            answer["places"] = {name: list(place) for name, place in drawing.drawn.items()}
        try:
            with warnings.catch_warnings(record=True) as odd:
                warnings.simplefilter("always", KinetreeWarning)
                answer |= self._shown(document.robot, news)
            if not document.at:
                answer["notes"] += [str(w.message) for w in odd if issubclass(w.category, KinetreeWarning)]
        except KinetreeError as problem:
            answer["problem"] = str(problem)
        return answer

    def _shown(self, robot: Robot, news: News) -> News:
        """Return what the page shows and computes with, and its code if that is new to the page and can be had soon."""
        data, kernels = self._content(robot, news.get("pose"))
        name, found = data["compute"]["laws"], News()
        if name not in news.get("laws", ()):
            made = self._laws.code(name, AT_ONCE)
            if made is None:
                data["compute"]["seen"] = _seen(kernels, news.get("pose"))
            else:
                found["laws"] = packed(code_data(made))
        return found | {"robot": packed(data)}

    def _content(self, robot: Robot, pose: Any) -> tuple[dict[str, Any], Kernels]:
        """Return what the page shows; it begins at the given pose where the robot has no usual one."""
        given: dict[str, Any] = {"kept": self._laws, "file": self._open_document.geometry}
        try:
            return content(robot, robot.model.motion_of, **given)[:2]
        except KinetreeError:
            if not isinstance(pose, Mapping):
                raise
            return content(robot, robot.model.motion_of, q=_pose(robot, pose), **given)[:2]


def _seen(kernels: Kernels, pose: Any) -> dict[str, Any]:
    """Return the configuration that is shown until the code is there, and where its bodies are."""
    robot, q = kernels.robot, kernels.q
    if isinstance(pose, Mapping):
        q = _pose(robot, pose)
        with suppress(KinetreeError):
            q = robot.close(q, limits=False) if robot.loops is not None else q
        if robot.loops is not None and robot.closure_error(q) > SEEN_CLOSED:
            q = kernels.q
    assert kernels.varied.numbers is not None
    told = np.array(kernels.kinematics(list(q), kernels.varied.numbers.tolist()), dtype=float)
    return {"q": q, "kinematics": told}


SEEN_CLOSED = 1e-8
"""Gaps of loops, in meters and radians, that nobody sees."""


def formulas(made: Any, n: int) -> list[dict[str, str]]:
    """Return what equations of motion consist of, apart from zeros: a letter, its place, and the formula as MathML."""
    from sympy.printing.mathml import mathml  # SymPy takes half a second to load

    whole = [("M", f"{i + 1}{k + 1}", made.mass_matrix[i, k]) for i in range(n) for k in range(i, n)]
    whole += [
        (letter, str(i + 1), part[i]) for letter, part in (("c", made.coriolis), ("g", made.gravity)) for i in range(n)
    ]

    def written(x: Any) -> str:
        found = mathml(x.n(SHOWN_DIGITS), printer="presentation")
        return re.sub(r"&(?!lt;|gt;|amp;|quot;|#)\w+;", lambda word: html.unescape(word[0]), found)

    return [{"letter": letter, "at": at, "formula": written(x)} for letter, at, x in whole if x != 0]


SHOWN_DIGITS = 4
"""Digits of numbers in formulas; the text below them has all."""

LOST = {"linkage": "its drawing", "table": "its table"}
"""What a file can no longer say if numbers are kept that it does not express."""

MOST_ASSEMBLIES = 40

MOST_FREEDOMS = 3
"""Freedoms of robots whose equations are shown: those of more fill pages."""


def _pose(robot: Robot, pose: Mapping[str, Any]) -> Any:
    """Return a configuration from positions of joints by name, as far as there are joints of these names."""
    q = np.array(robot.neutral(), dtype=float)
    for joint in robot.model.joints:
        given = pose.get(joint.name)
        if isinstance(given, list) and len(given) == joint.nq and np.isfinite(given).all():
            q[joint.q_slice] = given
    return q


def studio(
    robot: Robot | str | os.PathLike[str] | None = None, *, folder: str | os.PathLike[str] = ".",
    port: int = STUDIO_PORT, open_browser: bool = False,
) -> Studio:  # fmt: skip
    """Open the studio: a page in the browser on which robots are built, moved and run.

    The page is served to this machine only, at an address with a secret.

    Parameters
    ----------
    robot : Robot, str or path, optional
        A robot, the name of a system in the gallery, or a robot file; without one, the page begins with a choice.
    folder : path
        The folder whose robot files are listed, and the only one in which the page reads and writes.
    port : int
        Port at which the page is served, or the next free one; 0 picks any.
    open_browser : bool
        Whether to open the page in the user's browser, if there is a screen.

    Returns
    -------
    Studio
        With ``url``, ``document`` (text, edits and runs), ``wait()`` and ``close()``.

    Examples
    --------
    >>> import kinetree as kt
    >>> with kt.studio("four-bar", port=0) as studio:
    ...     studio.document.set("bodies", "crank", "mass", to="2 kg")
    ...     studio.document.robot.body("crank").mass
    2.0
    """
    place = Path(folder)
    if not place.is_dir():
        raise OptionError(f"there is no folder {str(place)!r} for the studio's files")
    made = Studio(None if robot is None else Document.open(robot), place, port)
    if open_browser and has_screen():
        webbrowser.open(made.url)
    return made
