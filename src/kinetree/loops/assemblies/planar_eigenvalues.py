"""All assemblies of planar mechanisms, as eigenvalues: every real one, and a proof that there is no other.

With z = exp(i angle) of each link, a loop of hinges is an equation c0 + c1 z1 + c2 z2 + ... = 0 and its conjugate, in
which 1/z stands for z.  Dixon's determinant eliminates all links but one from n = 2 m such equations.  It leaves a
pencil of matrices of size (2 m over m), linear in that z, whose eigenvalues are all solutions, complex ones included
(Wampler 2001, on planar mechanisms in the complex plane): 2 for a four-bar, 6 for three legs or six-bars that are not
chains of dyads, 20 for eight-bars.  Those of modulus 1 are assemblies.

Loops fall into groups (Assur's), solved one after the other, each from every solution of those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb

import numpy as np
from scipy.linalg import eig

from ...algorithms.newton_closing_step import FrameGoal
from ...model.joints import Continuous, Prismatic, Reversed, Revolute
from ...model.tree import BASE, Model
from ...spatial import IDENTITY, Transform, Vec3
from ...spatial.arrays import Array
from .. import blocks

IN_PLANE = 1e-9
"""Axes whose angle has a sine below this are parallel."""

MOST_LOOPS, MOST_HANGING = 7, 4
"""The most loops of a mechanism, and the most that are solved together: a pencil of 70 by 70."""

MAYBE, SURE = 1e-3, 1e-6
"""An eigenvalue is examined if its modulus is this close to 1, and must be an assembly if it is this close."""

REGULAR = 1e-13
"""A pencil proves nothing if its least singular value is everywhere below this fraction of the largest."""

CLOSE = 1e-12
"""Largest gaps of assemblies, as a fraction of the longest link."""


class CannotTellError(Exception):
    """Nothing can be proven; the message says why."""


@dataclass(frozen=True)
class PlanarLoops:
    """The loops of a planar mechanism with some joints held: equations for its links' directions and its slides.

    Attributes
    ----------
    c : ndarray of complex, shape (loops, 1 + links)
        Factors of 1 and of z of each link that turns, where z is its rotation from the drawing.
    d : ndarray of complex, shape (slides, loops, 1 + links)
        The same, per length of each slide.
    hinges : list of (int, int, int, float)
        Index in q, link, parent link and sense of each free hinge.
    slides : list of int
        Indices in q.
    q : ndarray, shape (nq,)
        The configuration as drawn.
    turned : dict of int to complex
        Links whose rotation from the drawing is given.
    """

    c: Array
    d: Array
    hinges: list[tuple[int, int, int, float]]
    slides: list[int]
    q: Array
    turned: dict[int, complex]

    @classmethod
    def of(cls, model: Model, q: Array, free: Array, goals: Sequence[FrameGoal], given: Array) -> PlanarLoops:
        """Read a model drawn at q whose ``free`` velocities may move, with some frames held at given goals.

        Anything that is not planar is refused with a reason.
        """
        if model.couplings or any(joint.mimic for joint in model.joints):
            raise CannotTellError("joints that follow others have no such equations")
        poses: dict[int, Transform] = {BASE: IDENTITY}
        for i, link in enumerate(model.links):
            poses[i] = poses[link.parent] @ link.transform(link.position(list(q)))
        normal, plane = _plane(model, poses, free)

        def flat(pose: Transform) -> complex:
            return complex(*(plane @ np.array([float(x) for x in pose.translation])))

        drawn = {i: flat(pose) for i, pose in poses.items()}
        turning: dict[int, int] = {BASE: 0}
        hinges, slides, sliding = list[tuple[int, int, int, float]](), list[int](), dict[int, complex]()
        for i, joint in enumerate(model.joints):
            turning[i] = turning[joint.parent]
            if not joint.nv or not free[joint.v_slice].any():
                continue
            own, sense = _own(joint.kind)
            axis = np.array([float(x) for x in poses[i].rotate(Vec3(*own.axis))])
            if isinstance(own, Prismatic):
                sliding[i] = sense * complex(*(plane @ axis))
                slides.append(joint.q_slice.start)
            else:
                turning[i] = 1 + len(hinges)
                sense *= float(np.sign(axis @ normal))
                hinges.append((joint.q_slice.start, turning[i], turning[joint.parent], sense))
        width, order = 1 + len(hinges), list(sliding)
        place = {BASE: np.zeros((1 + len(order), width), dtype=complex)}
        for i, joint in enumerate(model.joints):
            place[i] = place[joint.parent].copy()
            place[i][0, turning[joint.parent]] += drawn[i] - drawn[joint.parent]
            if i in sliding:
                place[i][1 + order.index(i), turning[joint.parent]] += sliding[i]
        rows = []
        for loop in model.loops:
            row: Array = np.zeros_like(place[BASE])
            for body, seat, sign in ((loop.predecessor, loop.placement, 1.0), (loop.successor, loop.seat, -1.0)):
                row += sign * place[body]
                row[0, turning[body]] += sign * (flat(poses[body] @ seat.spatial()) - drawn[body])
            rows.append(row)
        turned, used = dict[int, complex](), 0
        for goal in goals:
            numbers = given[used : used + goal.size].reshape(3, -1)
            used += goal.size
            frame = model.frame(goal.frame)
            body, pose = frame.body, poses[frame.body] @ frame.pose.spatial()
            if goal.orientation:
                turn = numbers[:, :3] @ np.array(pose.matrix().to_rows(), dtype=float).T
                if np.linalg.norm(turn @ normal - normal) > IN_PLANE:
                    raise CannotTellError("a goal is turned out of the plane")
                turned[turning[body]] = complex(*(plane @ turn @ plane[0]))
            if goal.position:
                row = place[body].copy()
                row[0, turning[body]] += flat(pose) - drawn[body]
                row[0, 0] -= complex(*(plane @ numbers[:, -1]))
                rows.append(row)
        every = np.array(rows)
        return cls(every[:, 0], np.moveaxis(every[:, 1:], 1, 0), hinges, slides, q, turned)

    def assemblies(self) -> tuple[Array, int]:
        """Return the configurations (k, nq) of all assemblies, and an upper bound on their number."""
        system = _sparse(self.c, self.d)
        count = self.c.shape[1] - 1
        columns = dict[int, set[int]]()
        for j in range(system.shape[1]):
            own = {i for i in range(count) if np.abs(system[:, j, 1 + i]).max() > IN_PLANE * np.abs(self.c).max()}
            own |= {count + k for k in range(len(self.slides)) if np.abs(system[1 + k, j]).max() > IN_PLANE}
            own -= {link - 1 for link in self.turned}
            columns |= {2 * j: own, 2 * j + 1: own}
        columns = {row: own for row, own in columns.items() if own}
        groups = blocks.find(columns, list(columns))
        if sum(len(group.columns) for group in groups) + len(self.turned) < count + len(self.slides):
            raise CannotTellError("some links are not held by the loops")
        known, most = [np.concatenate([np.ones(1 + count), np.zeros(len(self.slides))]).astype(complex)], 1
        known[0][list(self.turned)] = list(self.turned.values())
        for group in groups:
            if len(group.rows) != len(group.columns):
                raise CannotTellError("links have more freedoms than the loops hold")
            loops = sorted({row // 2 for row in group.rows})
            turns, moves = [1 + i for i in group.columns if i < count], [i - count for i in group.columns if i >= count]
            known = [found for x in known for found in _solved(system[:, loops], x, turns, moves, count)]
            most *= 2 if moves else comb(2 * len(loops), len(loops))
        found = np.tile(self.q, (len(known), 1))
        for row, x in zip(found, known, strict=True):
            angle = np.angle(x[: 1 + count])
            for place, link, parent, sense in self.hinges:
                row[place] += sense * (angle[link] - angle[parent])
            row[self.slides] += x[1 + count :].real
        return found, most


def _own(kind: object) -> tuple[Revolute | Continuous | Prismatic, float]:
    """Return a joint, and its sense: 1, or -1 if it is reversed."""
    own = kind.kind if isinstance(kind, Reversed) else kind
    if not isinstance(own, (Revolute, Continuous, Prismatic)):
        raise CannotTellError("not all joints are hinges and slides")
    return own, -1.0 if isinstance(kind, Reversed) else 1.0


def _plane(model: Model, poses: dict[int, Transform], free: Array) -> tuple[Array, Array]:
    """Return the normal of the plane in which everything moves, and two axes in it, (2, 3)."""
    turning, sliding = list[Array](), list[Array]()
    seats = [(j.kind, poses[i]) for i, j in enumerate(model.joints) if j.nv and free[j.v_slice].any()]
    for loop in model.loops:
        if isinstance(_own(loop.kind)[0], Prismatic):
            raise CannotTellError("a slide closes a loop: cut it elsewhere (with_cuts)")
        seats += [(loop.kind, poses[loop.predecessor] @ loop.placement.spatial())]
        seats += [(loop.kind, poses[loop.successor] @ loop.seat.spatial())]
    for kind, pose in seats:
        own, _ = _own(kind)
        axis = np.array([float(x) for x in pose.rotate(Vec3(*own.axis))])
        (sliding if isinstance(own, Prismatic) else turning).append(axis / np.linalg.norm(axis))
    normal = turning[0] if turning else np.zeros(3)
    off = [np.linalg.norm(np.cross(normal, x)) for x in turning] + [abs(normal @ x) for x in sliding]
    if not turning or max(off) > IN_PLANE:
        raise CannotTellError("it does not move in a plane")
    first = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    first /= np.linalg.norm(first)
    return normal, np.array([first, np.cross(normal, first)])


def _sparse(c: Array, d: Array) -> Array:
    """Return loops (1 + slides, loops, 1 + links) with the fewest links: sums and differences of those given."""
    every = np.concatenate([c[None], d])
    count = c.shape[0]
    if count > MOST_LOOPS:
        raise CannotTellError(f"more than {MOST_LOOPS} loops")
    size = IN_PLANE * np.abs(c).max()
    signs = [s for s in product((0, 1, -1), repeat=count) if any(s) and next(x for x in s if x) > 0]
    sums = np.einsum("sj,kjl->ksl", np.array(signs, dtype=float), every)
    links = (np.abs(sums) > size).any(axis=0)[:, 1:].sum(axis=1) + (np.abs(sums[1:]) > size).any(axis=2).sum(axis=0)
    kept: list[int] = []
    for k in np.lexsort((np.abs(signs).sum(axis=1), links)):
        if np.linalg.matrix_rank(np.array(signs)[[*kept, k]]) > len(kept):
            kept.append(int(k))
    return sums[:, kept]


def _solved(system: Array, known: Array, turns: list[int], moves: list[int], count: int) -> list[Array]:
    """Return all solutions of one group of loops, given the known ones: z of links (1 + links), then slide lengths."""
    c = system[0] + np.einsum("kjl,k->jl", system[1:], known[1 + count :])
    others = [i for i in range(1 + count) if i not in turns]
    constant = c[:, others] @ known[others]
    found: list[tuple[object, object]] = []
    if not moves:
        if len(c) > MOST_HANGING:
            raise CannotTellError(f"more than {MOST_HANGING} loops that hang together")
        found += [(z, []) for z in dixon(np.concatenate([constant[:, None], c[:, turns]], axis=1))]
    elif len(c) > 1 or not turns:
        raise CannotTellError("loops with slides hang together")
    else:  # constant + s fixed + z (c + s own) = 0, where either fixed or own is zero
        (link,), along = turns, system[1 + moves[0], 0]
        start, own, way, radius = constant[0], along[link], along[others] @ known[others], abs(c[0, link])
        if abs(own) > abs(way):
            start, way, radius = c[0, link], own, abs(constant[0])
        middle = -(start * np.conj(way)).real / abs(way) ** 2
        left = radius**2 - abs(start + middle * way) ** 2
        if abs(left) < CLOSE * (radius**2 + abs(start) ** 2):
            raise CannotTellError("a dead point")
        for sign in (1.0, -1.0) if left > 0.0 else ():
            s = middle + sign * np.sqrt(left) / abs(way)
            found.append((-(constant[0] + s * (along[others] @ known[others])) / (c[0, link] + s * own), s))
    new = np.tile(known, (len(found), 1))
    for row, (z, lengths) in zip(new, found, strict=True):
        row[turns], row[[1 + count + k for k in moves]] = z, lengths
    return list(new)


# ---------------------------------------------------------------- Dixon's determinant


def dixon(c: Array) -> list[Array]:
    """Return all z (2 m,) of modulus 1 with ``c[:, 0] + c[:, 1:] @ z = 0``, m complex equations.

    The determinant has n = 2 m rows: the equations and their conjugates, and their changes with each z but the first,
    x.  It is linear in products of the reciprocals of m - 1 or m other z.
    """
    c = c / np.abs(c).max()
    m, n = len(c), c.shape[1] - 1
    sets = [frozenset(s) for k in (m - 1, m) for s in combinations(range(2, n + 1), k)]
    place = {s: i for i, s in enumerate(sets)}
    constant, slope = np.zeros((2, len(sets), len(sets)), dtype=complex)

    def determinant(first: Array, conjugate: bool, conjugates: frozenset[int]) -> complex:
        rows = np.zeros((n, n), dtype=complex)
        rows[0, m * conjugate : m * conjugate + m] = first
        for row, i in enumerate(range(2, n + 1), 1):
            if i in conjugates:
                rows[row, m:] = -np.conj(c[:, i])
            else:
                rows[row, :m] = c[:, i]
        return complex(np.linalg.det(rows))

    for s, i in place.items():
        if len(s) == m:
            constant[i, i], slope[i, i] = determinant(c[:, 0], False, s), determinant(c[:, 1], False, s)
            continue
        slope[i, i], constant[i, i] = (determinant(np.conj(c[:, k]), True, s) for k in (0, 1))  # times x
        for k in set(range(2, n + 1)) - s:
            other = place[s | {k}]
            value = determinant(np.conj(c[:, k]), True, s)
            slope[i, other] += value
            constant[other, i] += value
    return _of_modulus_one(c, sets, constant, slope)


def _of_modulus_one(c: Array, sets: list[frozenset[int]], constant: Array, slope: Array) -> list[Array]:
    """Return the assemblies among the eigenvalues of ``constant + x slope``."""
    sizes = [np.linalg.svd(constant + x * slope, compute_uv=False) for x in (1.02 + 0.32j, -0.35 + 1.01j)]
    if max(size[-1] / size[0] for size in sizes) < REGULAR:
        raise CannotTellError("the loops' equations depend on one another")
    values, vectors = eig(constant, -slope)
    found: list[Array] = []
    for x, t in zip(values, vectors.T, strict=True):
        if not np.isfinite(x) or abs(abs(x) - 1.0) > MAYBE:
            continue
        z = _settled(c, _angles(x, t, sets, c.shape[1] - 1))
        if z is not None and abs(z[0] - x / abs(x)) < MAYBE:
            if not any(np.abs(z - other).max() < MAYBE for other in found):
                found.append(z)
        elif abs(abs(x) - 1.0) < SURE:
            raise CannotTellError("solutions lie close together: a dead point is near")
    return found


def _angles(x: complex, t: Array, sets: list[frozenset[int]], n: int) -> Array:
    """Return the angles of all links (n,) from an eigenvector: products of reciprocals of z."""
    found, value = [np.angle(x)], dict(zip(sets, t, strict=True))
    for k in range(2, n + 1):
        pairs = [(own, value[s | {k}]) for s, own in value.items() if k not in s and s | {k} in value]
        own, other = max(pairs, key=lambda pair: abs(pair[0]) + abs(pair[1]))
        found.append(np.angle(own * np.conj(other)))
    return np.array(found)


def _settled(c: Array, angles: Array) -> Array | None:
    """Return z of the assembly near some angles; None if there is none."""
    for _ in range(30):
        z = np.exp(1j * angles)
        off = c[:, 0] + c[:, 1:] @ z
        if np.abs(off).max() < CLOSE:
            return np.asarray(z)
        whole = np.concatenate([c[:, 1:] * (1j * z), off[:, None]], axis=1)
        rows = np.concatenate([whole.real, whole.imag])
        move = np.linalg.lstsq(rows[:, :-1], rows[:, -1], rcond=None)[0]
        angles = angles - move * min(1.0, 0.5 / max(float(np.abs(move).max()), 1e-300))
    return None
