"""All errors and warnings of kinetree."""

from __future__ import annotations

import difflib
import functools
import heapq
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import FrameType, FunctionType
from typing import Any, TypeVar

from .former_names import FORMER_ARGUMENTS, with_names_of_today

__all__ = [
    "ArgumentError", "CacheWarning", "ClosureError", "CompileError", "ContactWarning", "FileFormatError",
    "IdentificationError", "IdentificationWarning", "KinetreeError", "KinetreeWarning", "MissingFileError",
    "ModelError", "ModelWarning", "NoLoopsError", "NoValueError", "OptionError", "OutputError", "PathError",
    "RobotFileNotFoundError", "RoundingWarning", "ShapeError", "SimulationError", "SingularError", "SingularityWarning",
    "StateError", "TrajectoryError", "UnknownNameError", "UnreachableError", "UnsupportedError",
]  # fmt: skip


NEAR = 0.6
"""Least similarity of a name and a suggestion: two letters of five may differ, or more after an equal beginning."""

NEXT_BEST = 0.05
"""How much less similar than the best suggestion the others may be."""


MOST_COMPARED = 500
"""Names compared letter by letter; among more, those with the same beginning and end and a similar length."""

MOST_LISTED, MOST_ARGUMENTS = 40, 12
"""How many names, and arguments of a function, an error lists where none is similar."""

LONGEST_SHOWN = 80
"""How many letters of a value a message shows."""

LONGEST_COMPARED = 100
"""How many letters of a name are compared; a longer name is cut to its beginning and its end."""


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return names that may have been meant, the likeliest first; none if none is similar.

    The time grows only with the number of known names, not with their length.
    """
    wanted, names = _clipped(name.lower()), list(dict.fromkeys(map(str, known)))
    if len(names) > MOST_COMPARED:
        names = heapq.nlargest(MOST_COMPARED, names, key=lambda other: _rough_likeness(wanted, _clipped(other.lower())))
    scored = [(_likeness(wanted, _clipped(other.lower())), other) for other in names]
    scored = sorted((s for s in scored if s[0] >= NEAR), key=lambda s: -s[0])
    return [other for score, other in scored[:count] if score >= scored[0][0] - NEXT_BEST]


def no_such_name(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error for a name that a module does not have, with suggestions."""
    near = nearest(name, known)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}")


def _clipped(name: str) -> str:
    half = LONGEST_COMPARED // 2
    return name if len(name) <= LONGEST_COMPARED else name[:half] + name[-half:]


def _rough_likeness(name: str, other: str) -> int:
    """Count equal letters from the beginning and from the end, minus the difference in length."""
    return _same(name, other) + _same(name[::-1], other[::-1]) - abs(len(name) - len(other))


def _same(name: str, other: str) -> int:
    """Count the leading letters that two names share."""
    return next((k for k, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), min(len(name), len(other)))


def _likeness(name: str, other: str) -> float:
    """Return the similarity of two names, from 0 to 1.

    It counts the letters in common, and adds for the same beginning (as Winkler does) or one shared word of several.
    """
    ratio = difflib.SequenceMatcher(None, name, other, autojunk=False).ratio()
    begun = ratio + 0.1 * min(_same(name, other), 4) * (1.0 - ratio)
    return max(begun, 0.75) if name and name in re.split(r"[\W_]+", other) else begun


# ------------------------------------------------------------------ words of others


def printable(text: str, keep: str = "") -> str:
    r"""Escape unprintable characters as Python does, ``\x1b``: names are data, and must not control a terminal.

    Parameters
    ----------
    text : str
    keep : str
        Characters to leave as they are, such as line ends.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


# ------------------------------------------------------------------ words with options in them


@dataclass(frozen=True, init=False)
class Setting:
    """An option that a message mentions, perhaps with values for it.

    Parameters
    ----------
    name : str
        The name of the keyword argument.
    *values : object
        Values to choose from; ``...`` for one that the user has to find; none where the message is about the option
        itself.
    """

    name: str
    values: tuple[object, ...]

    def __init__(self, name: str, *values: object) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", values)

    def __str__(self) -> str:
        """Write the setting as Python does: ``integrator='radau' or 'bdf'``."""
        written = (repr(x) if isinstance(x, str) else word_of(x) for x in self.values)
        return f"{self.name}={' or '.join(written)}" if self.values else self.name


def word_of(value: object) -> str:
    """Write a value of a setting: words without quotes, small numbers as ``1e-3``, ``...`` for any value."""
    if value is ...:
        return "..."
    if isinstance(value, float) and 0.0 < abs(value) < 0.01:
        digits, _, power = f"{value:.6e}".partition("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return f"{value:g}" if isinstance(value, float) else str(value)


class Message(str):
    """A text that remembers which of its parts are settings, so that the command line can write them in its own way.

    Parameters
    ----------
    *parts : str, Setting or Message
        The parts of the message, in order.
    """

    parts: tuple[str | Setting, ...]

    def __new__(cls, *parts: str | Setting) -> Message:
        """Put the parts together, settings as Python writes them."""
        flat = [p for part in parts for p in (part.parts if isinstance(part, Message) else (part,))]
        made = super().__new__(cls, "".join(map(str, flat)))
        made.parts = tuple(flat)
        return made

    def written(self, write: Callable[[Setting], str]) -> str:
        """Return the text with every setting written by a function."""
        return "".join(write(part) if isinstance(part, Setting) else part for part in self.parts)


def message_of(problem: BaseException) -> str:
    """Return an exception's message, with its settings if it has any, for code that raises another one instead."""
    said = problem.args[0] if problem.args else None
    return said if isinstance(said, Message) else str(problem)


# ------------------------------------------------------------------ errors


class KinetreeError(Exception):
    """Base of all errors raised by kinetree."""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the message rather than the arguments it was made from: other processes send errors back."""
        return _said_before, (type(self), self.args), self.__dict__


def _said_before(kind: type[KinetreeError], args: tuple[object, ...]) -> KinetreeError:
    return kind.__new__(kind, *args)


class ArgumentError(KinetreeError, TypeError):
    """An unknown or missing argument; says which was probably meant, or which are missing."""


class ModelError(KinetreeError, ValueError):
    """An impossible mechanism: negative mass, two roots, a joint without an axis, ..."""


class FileFormatError(ModelError):
    """A file that cannot be understood; says which file, which line and why."""

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        self.file, self.line = file, line
        place = file or ""
        if line is not None:
            place = f"{place}, line {line}" if place else f"line {line}"
        super().__init__(Message(f"{place}: ", message) if place else message)


class MissingFileError(KinetreeError, FileNotFoundError):
    """A file that does not exist: a record, a table, a study, a robot."""


class RobotFileNotFoundError(MissingFileError):
    """A robot file that does not exist."""


class UnknownNameError(KinetreeError, KeyError):
    """A name that the robot does not have; suggests the nearest, or says what it is instead."""

    def __init__(
        self, what: str, name: object, known: Iterable[str], *, meant: str | None = None, instead: str = "",
        most: int = MOST_LISTED,
    ) -> None:  # fmt: skip
        names = list(dict.fromkeys(known))
        near = nearest(str(name), names) if meant is None else [meant]
        if instead:
            hint = instead
        elif near:
            hint = "did you mean " + " or ".join(repr(n) for n in near) + "?"
        elif names:
            shown = printable(_shown(names, most))
            hint = f"known: {shown}"
        else:
            hint = "there are none"
        self.message = f"no {what} named {name!r}; {hint}"
        super().__init__(self.message)

    def __str__(self) -> str:  # KeyError would show the repr
        return self.message


def refuse_unknown(what: str, name: Any, known: Iterable[Any], **hints: Any) -> None:
    """Raise an error that suggests what was meant, if a name is not known; further arguments are those of the error."""
    if name not in known:
        raise UnknownNameError(what, name, known, **hints)


class ShapeError(KinetreeError, ValueError):
    """An array of the wrong shape or type; says which argument and what was expected."""


class StateError(KinetreeError, ValueError):
    """A state that is not valid: a quaternion that is not of unit length, ..."""


class SingularError(KinetreeError, ArithmeticError):
    """Equations without a unique solution; says at which joint."""


class NoSolutionError(SingularError):
    """Contacts that contradict one another; names them, and says how this was detected."""


class ClosureError(KinetreeError, ArithmeticError):
    """A loop that cannot be closed; says how far off it stays and at which joint."""


class PathError(ClosureError):
    """A path that a mechanism cannot follow; says from which point on, and why.

    Attributes
    ----------
    point : int
        Index of the point on the path; -1 on the way to the first one.
    why : str
        What is wrong there.
    """

    def __init__(self, message: str, point: int, why: str) -> None:
        super().__init__(message)
        self.point, self.why = point, why


class UnsupportedError(KinetreeError, NotImplementedError):
    """Something the chosen format or method cannot express; says what to use instead."""


class NoLoopsError(KinetreeError, AttributeError):
    """A robot without closed loops was used for something that only :class:`kinetree.Mechanism` has."""

    def __init__(self, robot: str, method: str) -> None:
        super().__init__(
            f"robot {robot!r} has no closed loops, so it has no {method!r}: only a kinetree.Mechanism has. Loops come "
            "from the file, from load(..., loops=...) or from Builder.loop"
        )


class NoValueError(KinetreeError):
    """A number is needed where the robot has a symbol without a value; says which, and where to give it.

    Attributes
    ----------
    symbols : tuple of str
    """

    def __init__(self, symbols: Iterable[str]) -> None:
        self.symbols = tuple(sorted(symbols))
        first = self.symbols[0]
        count = len(self.symbols)
        listed = ", ".join(self.symbols[:MOST_LISTED]) + (f", ... ({count} in all)" if count > MOST_LISTED else "")
        super().__init__(
            Message(
                f"{listed} {'have' if count > 1 else 'has'} no value, and numbers are needed here: give them with ",
                Setting("values", ...),
                f" (names with numbers, or a file of them) when the robot is loaded, afterwards by "
                f"robot.with_values({{{first!r}: ...}}), or for a call by parameters={{{first!r}: ...}}",
            )
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.symbols,)


class ReadOnlyError(KinetreeError, AttributeError):
    """An assignment to something that cannot be changed; says what to make instead."""


class OptionError(KinetreeError, ValueError):
    """An option that is missing or impossible; says which one and what to give."""


class TrajectoryError(KinetreeError, ValueError):
    """A trajectory was evaluated outside its time span; says at which time, and gives the span."""

    def __init__(self, message: str, time: float = float("nan")) -> None:
        self.time = time
        super().__init__(message)


class UnreachableError(KinetreeError, ValueError):
    """A pose that inverse kinematics could not reach; says by how far and for which entry of the batch."""


class OutputError(KinetreeError, OSError):
    """Files that cannot be written; says where and why."""


class SimulationError(KinetreeError, RuntimeError):
    """A simulation that cannot continue; says when and at which joint.

    Attributes
    ----------
    record : Record
        The record up to that time.
    time : float
        Time at which it stopped.
    joint : str or None
        The joint, if a single one is to blame.
    """

    def __init__(self, message: str, time: float, joint: str | None = None, record: Any = None) -> None:
        self.time, self.joint, self.record = time, joint, record
        place = f", joint {joint!r}" if joint is not None and repr(joint) not in message else ""
        when = 0.0 if abs(time) < 1e-9 else time  # steps evaluate their starting state from within
        super().__init__(Message(f"at t = {when:.9g} s{place}: ", message))


class IdentificationError(KinetreeError, ValueError):
    """Data from which nothing can be identified; says what is wrong with them and what to measure instead."""


class CompileError(KinetreeError, RuntimeError):
    """Machine code could not be made; says for which algorithm, and what works without it."""

    def __str__(self) -> str:
        return f"{super().__str__()}; robot.with_backend('reference') or KINETREE_BACKEND=reference works without it"


class KinetreeWarning(UserWarning):
    """Base of all warnings."""


class ModelWarning(KinetreeWarning):
    """Something odd in a model that could still be loaded; says which link or joint."""


class SingularityWarning(KinetreeWarning):
    """A state close to a coordinate singularity, or accelerations that suffer from rounding; says at which joint."""


class RoundingWarning(KinetreeWarning):
    """Numbers in a file are rounded so that redundant constraints of closed loops contradict one another a little."""


class ContactWarning(KinetreeWarning):
    """A start deep inside compliant ground; says which frame, how deep, and how to lift the robot.

    Parameters
    ----------
    fact : str
        The fact to report.
    lift : (str, int, float), optional
        A coordinate of the base, its index in q, and the value at which the robot stands above the ground.

    Attributes
    ----------
    fact, lift
        As given, for callers that phrase the advice in other words than Python's.
    """

    def __init__(self, fact: str, lift: tuple[str, int, float] | None = None) -> None:
        self.fact, self.lift = fact, lift
        advice = "start from a q0 above the ground"
        if lift is not None:
            name, place, value = lift
            advice = f"start higher, with {name} (q0[{place}]) at {value:g}"
        super().__init__(f"{fact}: {advice}")


class IdentificationWarning(KinetreeWarning):
    """Measurements or results of an identification that should not be trusted as they are; says which and why."""


class SpeedWarning(KinetreeWarning):
    """Something runs in Python that is usually machine code; says what, why, and how to have it compiled."""


class CacheWarning(KinetreeWarning):
    """The cache of compiled code cannot be used; says which file or folder, and why."""


# ------------------------------------------------------------------ arguments

SAME_MEANING = (
    ("time", "duration", "T", "t_end", "t_span", "tspan", "until", "horizon"),
    ("period", "T", "Ts", "dt", "sample_time", "rate"),
    ("step", "dt", "Ts", "h", "timestep"),
    ("controller", "control", "policy", "law", "tau", "torque", "torques", "u"),
    ("integrator", "solver", "ode"),
    ("samples", "output", "t_eval"),
    ("draws", "samples", "n"),
    ("q0", "q", "x0", "initial", "start"),
    ("trajectory", "goal", "target", "desired", "reference", "setpoint", "ref"),
    ("path", "goal", "target", "desired", "reference", "trajectory"),
    ("q_guess", "near", "guess", "initial", "q0"),
    ("stiffness", "k", "kp", "spring"),
    ("damping", "d", "b", "c", "kd"),
    ("limit", "limits", "saturation", "maximum"),
    ("positions", "velocities", "Q"),
    ("efforts", "R"),
    ("ground", "stops", "contacts"),
    ("senses", "ground", "contacts"),
    ("position_noise", "noise", "std"),
    ("threads", "workers", "n_jobs", "jobs"),
    ("batch", "num_envs", "n_envs", "nworld", "num_worlds"),
    ("substeps", "decimation", "frame_skip", "n_frames"),
    ("observe", "observation", "observations", "obs"),
    ("ended", "done", "terminated", "termination"),
    ("time_limit", "max_episode_steps", "episode_length"),
    ("random", "randomization", "domain_randomization"),
)
"""Words for the same thing, here and in other libraries: the one that a function takes is what was meant."""

Callee = TypeVar("Callee", bound=Callable[..., Any])

EXPLAINED = "explains_its_arguments"
"""Marks functions that explain their arguments, so that none is wrapped twice."""


def explains_arguments(target: Callee) -> Callee:
    """Make a public function, or the construction of a class, explain wrong names or numbers of arguments.

    A correct call costs one extra frame and nothing else; signature, documentation and types stay those of the target.
    """
    if isinstance(target, type):
        _explain_members(target)
        return target
    return _explained(target)


class ExplainsArguments:
    """A base of classes for users: public methods, and construction, explain what is wrong with their arguments.

    Each subclass wraps the methods that it defines itself, once, when it is defined.  Properties and other descriptors
    stay as they are: :class:`~kinetree.evaluation.direct_methods.DirectMethod` explains the method that machine code
    falls back on.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _explain_members(cls)


def _explain_members(cls: type) -> None:
    for name, found in list(vars(cls).items()):
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        if isinstance(found, FunctionType):
            type.__setattr__(cls, name, _explained(found))
        elif isinstance(found, (staticmethod, classmethod)):
            type.__setattr__(cls, name, type(found)(_explained(found.__func__)))


def _explained(function: Any) -> Any:
    if hasattr(function, EXPLAINED):
        return function
    former = getattr(function, FORMER_ARGUMENTS, None)

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if former is not None and not former.keys().isdisjoint(named):
            name = type(args[0]).__name__ if function.__name__ == "__init__" else function.__name__
            named = with_names_of_today(name, former, named, callers_level())
        try:
            return function(*args, **named)
        except Exception as problem:
            said = None if isinstance(problem, KinetreeError) else _why_refused(function, args, named, problem)
            if said is None:
                raise
            if isinstance(said, OptionError):
                raise said from problem
        raise said  # here, so that Python's own words are not shown above

    setattr(call, EXPLAINED, True)
    return call


def _why_refused(
    function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any], problem: Exception
) -> KinetreeError | None:
    """Return what to raise instead of an exception from elsewhere; None if no argument is to blame.

    Kinds of arguments are checked where a user calls, not where kinetree calls itself: arguments further inside are our
    responsibility. Exceptions from users' own functions are left alone.
    """
    inside = problem.__traceback__.tb_next if problem.__traceback__ is not None else None
    if inside is not None and inside.tb_frame.f_globals.get("__name__") == "contextlib":
        inside = inside.tb_next  # the function runs within a context, such as that of one thread
    name = type(args[0]).__name__ if function.__name__ == "__init__" else function.__name__
    if isinstance(problem, TypeError):
        said = wrong_arguments(function, name, args, named) if inside is None else _wrong_option(name, named, problem)
        if said is not None:
            return ArgumentError(said)
    if _is_kinetree(sys._getframe(2)):  # skips this frame and the one around the function
        return None
    from .argument_kinds import entered_users_code, wrong_kind

    said = None if entered_users_code(inside, _OWN_PACKAGES) else wrong_kind(function, args, named, problem, shown)
    return None if said is None else OptionError(f"{name}(): {said}")


def _wrong_option(name: str, named: Mapping[str, Any], problem: TypeError) -> str | None:
    """Return what is wrong with an option that was passed on to a function that does not have it."""
    refused = re.match(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'", str(problem))
    if refused is None or refused[2] not in named:
        return None
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    seen = [] if trace is None else trace.tb_frame.f_globals.values()
    taker = next((x for x in seen if getattr(x, "__qualname__", "") == refused[1].removesuffix(".__init__")), None)
    known = list(inspect.signature(taker).parameters) if callable(taker) else []
    return f"{name}() has no argument {refused[2]!r}" + (f"; {_hint(refused[2], known)}" if known else "")


def _is_ours(module: str) -> bool:
    """Return whether a module belongs to kinetree or to one of its companion packages."""
    return module.partition(".")[0] in _OWN_PACKAGES


def _is_kinetree(frame: FrameType | None) -> bool:
    """Return whether a frame belongs to kinetree, except one that only passes on a user's call."""
    while frame is not None and frame.f_globals.get("__name__") in _HANDS_ON:
        frame = frame.f_back
    return frame is not None and _is_ours(frame.f_globals.get("__name__", ""))


def as_public(found: Any, module: str) -> Any:
    """Return a public object so that it explains wrong arguments, including those of a class's methods.

    Users get a function with a frame around it, the same one from every module that offers it; kinetree itself calls
    the bare function.
    """
    if isinstance(found, FunctionType) or hasattr(found, "cache_info"):
        if not hasattr(found, EXPLAINED):
            explained = _explained(found)
            explained.__module__ = module  # where pickles find it
            setattr(found, EXPLAINED, explained)
        kept = getattr(found, EXPLAINED)
        return found if kept is True else kept
    if isinstance(found, type) and not issubclass(found, (BaseException, tuple)):
        for kind in found.__mro__:
            if _is_ours(kind.__module__):
                _explain_members(kind)
    return found


def explain_public(module: str) -> Callable[[], list[str]]:
    """Make all public objects of a module explain wrong arguments, and return the module's ``__dir__``.

    ``__dir__`` lists the names of ``__all__`` or, without that, the names that the module defines.
    """
    names = vars(sys.modules[module])
    own = [name for name, found in names.items() if name[0] != "_" and getattr(found, "__module__", "") == module]
    offered = sorted(names.get("__all__", own))
    names.update({name: as_public(names[name], module) for name in offered if name in names})
    return lambda: list(offered)


def wrong_arguments(function: Callable[..., Any], name: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """Return what is wrong with the names and number of arguments, or None."""
    taken = dict(inspect.signature(function).parameters)
    if next(iter(taken), None) in ("self", "cls"):
        del taken[next(iter(taken))]
        args = args[1:]
    by_name = [key for key, p in taken.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    by_place = [key for key, p in taken.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_name = any(p.kind is p.VAR_KEYWORD for p in taken.values())
    for key in named:
        if key not in by_name and not any_name:
            return f"{name}() has no argument {key!r}; {_hint(key, [k for k in by_name if k not in named], by_name)}"
    if len(args) > len(by_place) and not any(p.kind is p.VAR_POSITIONAL for p in taken.values()):
        rest = [key for key in by_name if key not in by_place]
        more = f"; the others go by name: {_shown(f'{key}=' for key in rest)}" if rest else ""
        count = "1 argument by its" if len(by_place) == 1 else f"{len(by_place)} arguments by their"
        places = f"{count} place ({_shown(by_place)})" if by_place else "no argument by place"
        return f"{name}() takes {places}, and was given {len(args)}{more}"
    given = {*by_place[: len(args)], *named}
    missing = [key for key, p in taken.items() if p.default is p.empty and key in by_name and key not in given]
    if missing:
        return f"{name}() needs {' and '.join(f'{key}=...' for key in missing)}"
    twice = [key for key in by_place[: len(args)] if key in named]
    return f"{name}() was given {twice[0]!r} twice, by place and by name" if twice else None


def refuse_unknown_arguments(name: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse the first unknown argument, on behalf of functions that pass ``**options`` on."""
    names = list(known)
    for key in given:
        if key not in names:
            raise ArgumentError(f"{name} has no argument {key!r}; {_hint(key, names)}")


def _hint(word: str, known: list[str], every: list[str] | None = None) -> str:
    """Return which of the remaining names may have been meant, or all names."""
    same = [key for words in SAME_MEANING if word in words for key in known if key in words]
    near = nearest(word, known, 2)
    likely = ([k for k in near if k.lower() == word.lower() and len(word) > 1] or list(dict.fromkeys(same)) or near)[:2]
    if likely:
        return "did you mean " + " or ".join(map(repr, likely)) + "?"
    return f"known: {_shown(every or known)}" if every or known else "it takes none"


def shown(value: Any) -> str:
    """Write a value for a message, shortened if it is long."""
    try:
        text = repr(value)
    except Exception:  # a foreign object may raise anything when its name is read
        text = f"a {type(value).__name__}"
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def _shown(names: Iterable[str], most: int = MOST_ARGUMENTS) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (f", ... ({len(listed)} in all)" if len(listed) > most else "")


_BESIDE = ("gallery", "books", "programs", "studio", "learning", "optimize", "design", "sweeps")
_OWN_PACKAGES = ("kinetree", *(f"kinetree_{name}" for name in _BESIDE))

_BETWEEN = ("functools", "contextlib")
"""Modules whose frames may lie between two frames of kinetree without being the caller."""

_HANDS_ON = ("kinetree.loops.loops_class.prepared_dynamics", "kinetree.engine.kernels.direct_call", *_BETWEEN)
"""Modules that call on behalf of their caller."""


def warn(text: str | Warning, category: type[Warning]) -> None:
    """Warn at the line of the first caller outside kinetree."""
    warnings.warn(text, category, callers_level())


def callers_level() -> int:
    """Count how many frames up from :func:`warnings.warn` the first caller outside kinetree is."""
    own = (*_OWN_PACKAGES, *_BETWEEN)
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in own:
        level, frame = level + 1, frame.f_back
    return level


def __dir__() -> list[str]:
    """Return the names that are meant for users."""
    return sorted(__all__)
