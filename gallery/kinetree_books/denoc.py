"""The decoupled natural orthogonal complement (DeNOC): the equations of motion as matrices to read.

Formulas and names follow Shah chapters 4 and 5, corrected where a comment says so.  The twist of a link is ``t = [w;
o']``, its angular velocity and the velocity of its origin, with components in the **world frame**; so the twist
propagation matrix is ``A = [1 0; a x 1]`` as in the book, and wrenches are moments about link origins and forces, along
world axes.  A link's origin is that of its joint's moving frame, even if a standard Denavit-Hartenberg table puts the
link's own frame at the far end.

A joint of any kind is one block: ``P`` has one column per degree of freedom. For the book's stacked form, with massless
links inside multi-DOF joints, use ``robot.with_single_joints()``. Everything can be computed link by link, or module by
module (the book's symbols with bars); at link level, each link is a module of its own.

These matrices are dense and belong to one state. The recursions in the neighboring files compute the same numbers
faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algorithms import kinematics, springs
from kinetree.algorithms.passes import positions, rates
from kinetree.errors import ShapeError, SingularError, UnsupportedError, nearest, refuse_unknown
from kinetree.model.denoc_modules import Modules
from kinetree.model.tree import BASE, Model
from kinetree.spatial.arrays import Array, as_array, cross_matrix, pack, split

from .denoc_blocks import Axis, BlockMatrix

IN_THE_BOOK = {
    "nl": "N_l", "nd": "N_d", "i": "gim", "gim": "gim", "c": "convective_inertia", "mci": "convective_inertia",
    "mtilde": "M_tilde", "mhat": "articulated_inertia(link)", "ihat": "pivot(link)", "p": "joint_propagation(link)",
    "t": "twists", "uinv": "U_inverse", "dinv": "D_inverse", "tau": "inverse_dynamics(a)",
}  # fmt: skip
"""Shah's symbols, without underscores and in lower case, and their names here."""

PIVOT_TOLERANCE = 1e-13
"""A pivot of the factorization counts as zero below this fraction of the inertia it comes from."""


def twist_shift(a: ArrayLike) -> Array:
    """Return the twist propagation matrix ``[1 0; a x 1]``, a from the new origin to the old (Shah eq. 4.3)."""
    shift = np.eye(6)
    shift[3:, :3] = cross_matrix(a)
    return shift


def wrench_shift(s: ArrayLike) -> Array:
    """Return ``S = [1 s x; 0 1]``: a wrench at the point s from the origin, seen at the origin (Shah eq. 5.15)."""
    shift = np.eye(6)
    shift[:3, 3:] = cross_matrix(s)
    return shift


class LinkState(NamedTuple):
    """The quantities of one link that the matrices are made of, all in world axes."""

    origin: Array
    twist: Array
    columns: Array
    """P: twist relative to the parent per unit of each joint rate (Shah eq. 4.14, any joint)."""
    columns_rate: Array
    mass: Array
    """M = [I, m d x; -m d x, m 1] about the link's origin (Shah eq. 5.6)."""


class Elimination(NamedTuple):
    """One step of the block reverse Gaussian elimination, for a link or a module."""

    inertia: Array
    psi_hat: Array
    psi: Array
    phi: Array
    pivot: Array
    pivot_inverse: Array


class Denoc:
    """DeNOC matrices of a robot at one state; make one with :meth:`kinetree.Robot.denoc`.

    Blocks are named after links (bodies) and, along joint rates, after joints; at module level they are named after
    modules ``M1``, ``M2``, ..., and the names of links and joints select parts of the blocks. Along joint rates a
    link's name stands for its joint, unless another joint has that name. Twists and rates are stacked module by module:
    :attr:`order` gives the place of each rate in ``v``.

    Attributes
    ----------
    q, v : ndarray
        The state.
    parts : Modules or None
        None at link level.
    order : ndarray of int
        ``v[order]`` are the joint rates in the order of the columns of :attr:`N`.
    """

    def __init__(self, model: Model, q: Array, v: Array, parts: Modules | None = None) -> None:
        followers = [j.name for j in model.joints if j.mimic]
        if followers:
            raise UnsupportedError(
                f"joint {followers[0]!r} follows another, so its rate has no block: load the robot with "
                "mimic='independent' to see its DeNOC matrices"
            )
        self.model, self.q, self.v, self.parts = model, np.array(q), np.array(v), parts
        self._groups = [(i,) for i in range(len(model.bodies))] if parts is None else list(parts.bodies)
        self._parents = model.parents if parts is None else parts.parents
        self._stack = [k for group in self._groups for k in group]
        self._states = _link_states(model, self.q, self.v)
        self._twist_axis, self._rate_axis = self._axes()
        self.order = np.array([x for k in self._stack for x in _range(model.joints[k].v_slice)], dtype=int)

    def _axes(self) -> tuple[Axis, Axis]:
        """Return the labeled blocks of twists and of joint rates."""
        bodies, joints = [b.name for b in self.model.bodies], self.model.joints
        each_twist = Axis((bodies[k], 6) for k in self._stack)
        each_rate = Axis((joints[k].name, joints[k].nv) for k in self._stack)
        self._link_columns = dict(zip(self._stack, each_rate.slices, strict=True))
        body_rates = {bodies[k]: each_rate[joints[k].name] for k in self._stack}
        if self.parts is None:
            return each_twist, Axis(((label, s.stop - s.start) for label, s in each_rate), body_rates)
        labels = [f"M{i + 1}" for i in range(len(self.parts))]
        return (
            Axis(((s, 6 * len(g)) for s, g in zip(labels, self._groups, strict=True)), dict(each_twist)),
            Axis(
                ((s, sum(joints[k].nv for k in g)) for s, g in zip(labels, self._groups, strict=True)),
                {**body_rates, **dict(each_rate)},
            ),
        )

    # ------------------------------------------------------------ kinematics

    @property
    def labels(self) -> list[str]:
        """Links, or modules, in the order of the blocks."""
        return self._twist_axis.labels

    @cached_property
    def link_level(self) -> Denoc:
        """The same state link by link."""
        return self if self.parts is None else Denoc(self.model, self.q, self.v, None)

    def twist_propagation(self, to: str, origin: str) -> Array:
        """Return ``A_{to,origin}``, which carries a twist outward along a path (Shah eq. 4.3, 4.22, 4.23).

        The matrix is 6x6 between two links; between two modules only the last six columns are filled. It is zero if
        ``origin`` does not carry ``to``, and the identity from a block to itself.
        """
        level = self if to in self.labels and origin in self.labels else self.link_level
        return level._propagation(level._block(to), level._block(origin))

    def joint_propagation(self, name: str) -> Array:
        """Return ``P`` of a link (6 x DOF) or ``N_bar`` of a module: its own rates to twists (Shah eq. 4.14, 4.22)."""
        level, i = self._find(name)
        return level._own_columns(i)

    @cached_property
    def A(self) -> BlockMatrix:
        """One step outward: blocks ``A_{i,parent of i}``; ``N_l = (1 - A)^-1`` (Shah eq. 4.27, 4.28)."""
        array = np.zeros((self._twist_axis.size,) * 2)
        for i, parent in enumerate(self._parents):
            if parent != BASE:
                array[self._rows(i), self._rows(parent)] = self._propagation(i, parent)
        return BlockMatrix(array, self._twist_axis, self._twist_axis, "A")

    @cached_property
    def N_l(self) -> BlockMatrix:
        """Outward along every path: block (j, i) is ``A_{j,i}`` if i carries j, else zero (Shah eq. 4.29)."""
        array = np.eye(self._twist_axis.size) + self._along_paths(self._shift)
        return BlockMatrix(array, self._twist_axis, self._twist_axis, "N_l")

    @cached_property
    def N_d(self) -> BlockMatrix:
        """Block diagonal of the joint-rate propagations, 6 rows per link and a column per DOF (Shah eq. 4.27)."""
        array = self._within_modules(lambda k, m: self._shift(k, m) @ self._states[m].columns)
        return BlockMatrix(array, self._twist_axis, self._rate_axis, "N_d")

    @cached_property
    def N(self) -> BlockMatrix:
        """The natural orthogonal complement ``N_l N_d``: joint rates to the twists of all links."""
        return BlockMatrix(self.N_l.array @ self.N_d.array, self._twist_axis, self._rate_axis, "N")

    @cached_property
    def N_l_rate(self) -> BlockMatrix:
        """Time derivative of :attr:`N_l`: blocks of ``[0 0; a' x 0]``."""
        return BlockMatrix(self._along_paths(self._shift_rate), self._twist_axis, self._twist_axis, "N_l'")

    @cached_property
    def N_d_rate(self) -> BlockMatrix:
        """Time derivative of :attr:`N_d`."""

        def entry(k: int, m: int) -> Array:
            state = self._states[m]
            rate: Array = self._shift_rate(k, m) @ state.columns + self._shift(k, m) @ state.columns_rate
            return rate

        return BlockMatrix(self._within_modules(entry), self._twist_axis, self._rate_axis, "N_d'")

    @cached_property
    def N_rate(self) -> BlockMatrix:
        """Time derivative of :attr:`N`."""
        array = self.N_l_rate.array @ self.N_d.array + self.N_l.array @ self.N_d_rate.array
        return BlockMatrix(array, self._twist_axis, self._rate_axis, "N'")

    @property
    def twists(self) -> Array:
        """Twists of all links, ``N v``, stacked like the rows of :attr:`N`."""
        stacked: Array = self.N.array @ self.v[self.order]
        return stacked

    # ------------------------------------------------------------ inertia

    @cached_property
    def M(self) -> BlockMatrix:
        """Block diagonal of the links' mass matrices about their origins (Shah eq. 5.6)."""
        return self._per_link([s.mass for s in self._states], "M")

    @cached_property
    def Omega(self) -> BlockMatrix:
        """Block diagonal of ``diag(w x, w x)`` (Shah eq. 5.6)."""
        return self._per_link([np.kron(np.eye(2), cross_matrix(s.twist[:3])) for s in self._states], "Omega")

    @cached_property
    def E(self) -> BlockMatrix:
        """Block diagonal of ``diag(1, 0)``, which picks angular velocities (Shah eq. 5.6)."""
        return self._per_link([np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])] * len(self._states), "E")

    @cached_property
    def gim(self) -> BlockMatrix:
        """The generalized inertia matrix ``N^T M N`` (Shah eq. 5.13), rotor inertias added on the diagonal."""
        array = self.N.array.T @ self.M.array @ self.N.array + np.diag(self._armature)
        return BlockMatrix(array, self._rate_axis, self._rate_axis, "I")

    @cached_property
    def M_tilde(self) -> BlockMatrix:
        """``N_l^T M N_l``, whose diagonal blocks are the composite inertias (Shah eq. 5.16)."""
        array = self.N_l.array.T @ self.M.array @ self.N_l.array
        return BlockMatrix(array, self._twist_axis, self._twist_axis, "M~")

    def composite_inertia(self, name: str) -> Array:
        """Return ``M~`` of a link or module: with everything it carries frozen to it (Shah eq. 5.19)."""
        level, i = self._find(name)
        return level._composites[i]

    @cached_property
    def gim_from_composites(self) -> BlockMatrix:
        """The generalized inertia matrix block by block, ``N_i^T M~_i A_{i,j} N_j`` (Shah eq. 5.21)."""
        array = np.diag(self._armature)
        for i in range(len(self._groups)):
            moved = self._own_columns(i).T @ self._composites[i]
            array[self._columns(i), self._columns(i)] += moved @ self._own_columns(i)
            for j in self._carriers(i):
                block = moved @ self._propagation(i, j) @ self._own_columns(j)
                array[self._columns(i), self._columns(j)] = block
                array[self._columns(j), self._columns(i)] = block.T  # the book prints this without the transpose
        return BlockMatrix(array, self._rate_axis, self._rate_axis, "I")

    @cached_property
    def convective_inertia(self) -> BlockMatrix:
        """The matrix of convective inertia ``C = N^T (M N' + Omega M E N)`` (Shah eq. 5.13).

        ``C v`` are the velocity forces.  Unlike :meth:`kinetree.Robot.coriolis_matrix`, this
        choice does not make ``I' - 2 C`` skew-symmetric.
        """
        n, m = self.N.array, self.M.array
        array = n.T @ (m @ self.N_rate.array + self.Omega.array @ m @ self.E.array @ n)
        return BlockMatrix(array, self._rate_axis, self._rate_axis, "C")

    # ------------------------------------------------------------ I = U D U^T

    def articulated_inertia(self, name: str) -> Array:
        """Return ``M^`` of a link or module: with the joints beyond it free to yield (Shah eq. 5.36)."""
        return self._elimination(name).inertia

    def psi_hat(self, name: str) -> Array:
        """Return ``Psi^ = M^ N_bar`` of a link or module (Shah eq. 5.35)."""
        return self._elimination(name).psi_hat

    def psi(self, name: str) -> Array:
        """Return ``Psi``, which is ``Psi^`` times the inverse pivot, of a link or module (Shah eq. 5.35)."""
        return self._elimination(name).psi

    def phi(self, name: str) -> Array:
        """Return ``Phi = 1 - Psi N_bar^T`` of a link or module (Shah eq. 5.37)."""
        return self._elimination(name).phi

    def pivot(self, name: str) -> Array:
        """Return ``N_bar^T Psi^``, the block of D of a link or module (Shah eq. 5.34), with rotor inertia added."""
        return self._elimination(name).pivot

    @cached_property
    def U(self) -> BlockMatrix:
        """Unit upper triangular factor of the GIM: ``N_i^T A_{j,i}^T Psi_j`` where i carries j (Shah eq. 5.34)."""
        array = np.eye(self._rate_axis.size)
        for j, step in enumerate(self._eliminations):
            for i in self._carriers(j):
                block = self._own_columns(i).T @ self._propagation(j, i).T @ step.psi
                array[self._columns(i), self._columns(j)] = block
        return BlockMatrix(array, self._rate_axis, self._rate_axis, "U")

    @cached_property
    def D(self) -> BlockMatrix:
        """Block diagonal factor of the GIM (Shah eq. 5.32, 5.34)."""
        return self._per_block([step.pivot for step in self._eliminations], "D")

    @cached_property
    def U_inverse(self) -> BlockMatrix:
        """The inverse of :attr:`U`: ``-N_i^T A^_{j,i}^T Psi_j`` with articulated propagations ``A^``.

        Shah eq. 5.44-5.46 with Psi_j where V_j is printed, and with Phi_h transposed in
        ``A^_{j,i} = A^_{j,h} Phi_h^T A^_{h,i}``; as printed they hold only for trees no
        deeper than two modules.
        """
        array = np.eye(self._rate_axis.size)
        for j, step in enumerate(self._eliminations):
            for i, propagation in self._articulated_propagations(j):
                array[self._columns(i), self._columns(j)] = -self._own_columns(i).T @ propagation.T @ step.psi
        return BlockMatrix(array, self._rate_axis, self._rate_axis, "U^-1")

    @cached_property
    def D_inverse(self) -> BlockMatrix:
        """Block diagonal of the inverse pivots."""
        return self._per_block([step.pivot_inverse for step in self._eliminations], "D^-1")

    @cached_property
    def gim_inverse(self) -> BlockMatrix:
        """The inverse of :attr:`gim`, ``U^-T D^-1 U^-1`` (Shah eq. 5.38)."""
        u = self.U_inverse.array
        return BlockMatrix(u.T @ self.D_inverse.array @ u, self._rate_axis, self._rate_axis, "I^-1")

    # ------------------------------------------------------------ motion and forces, laid out like v

    def gravity_wrenches(self) -> Array:
        """Return every link's weight: moment about its origin and force, (links, 6), in the order of the bodies."""
        fall = np.concatenate([np.zeros(3), self.model.gravity])
        return np.array([s.mass @ fall for s in self._states])

    def generalized_force(self, wrenches: ArrayLike) -> Array:
        """Return ``N^T w`` of wrenches on the links (Shah eq. 5.13).

        wrenches: (links, 6). Moment about each link's origin and force, along world axes, in the order of the bodies.
            :func:`wrench_shift` brings a wrench to the origin.

        Returns
        -------
        ndarray, shape (nv,)
        """
        given = _single(wrenches, (len(self._states), 6), "wrenches", "moment, then force, one row per link")
        return self._laid_out(self.N.array.T @ given[self._stack].ravel())

    def inverse_dynamics(self, a: ArrayLike, wrenches: ArrayLike | None = None) -> Array:
        """Return the joint forces ``I a + C v - N^T w``, with weights and other wrenches in w (Shah eq. 5.12).

        a: (nv,). Joint accelerations.
        wrenches: (links, 6). As in :meth:`generalized_force`.

        Returns
        -------
        ndarray, shape (nv,)
        """
        acceleration = _single(a, (self.model.nv,), "a", f"{self.model.nv} = nv")
        tau: Array = self._laid_out(self.gim.array @ acceleration[self.order]) + self._bias(wrenches)
        return tau

    def forward_dynamics(self, tau: ArrayLike, wrenches: ArrayLike | None = None) -> Array:
        """Return the joint accelerations ``I^-1 (tau - C v + N^T w)`` by the analytic inverse (Shah eq. 5.38).

        tau: (nv,). Joint forces.
        wrenches: (links, 6). As in :meth:`generalized_force`.

        Returns
        -------
        ndarray, shape (nv,)
        """
        rest = _single(tau, (self.model.nv,), "tau", f"{self.model.nv} = nv") - self._bias(wrenches)
        return self._laid_out(self.gim_inverse.array @ rest[self.order])

    def _bias(self, wrenches: ArrayLike | None) -> Array:
        """Return C v less the contribution of weights and other wrenches."""
        force: Array = self._laid_out(self.convective_inertia.array @ self.v[self.order])
        force = force - self.generalized_force(self.gravity_wrenches())
        if self.model.has_springs:
            force = force - np.array(springs.left_for_bodies(self.model, list(self.q), [0.0] * self.model.nv))
        if wrenches is not None:
            force = force - self.generalized_force(wrenches)
        return force

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> None:
            """Raise an error for an unknown attribute, with a hint for readers of Shah's book."""
            if hasattr(type(self), name):  # a property raised an error, which explains itself
                return object.__getattribute__(self, name)
            known = [word for word in dir(type(self)) if not word.startswith("_")]
            here = IN_THE_BOOK.get(name.replace("_", "").lower()) or next(iter(nearest(name, known, 1)), None)
            hint = f"; here it is {here}" if here and not name.startswith("_") else ""
            raise AttributeError(f"'Denoc' object has no attribute {name!r}{hint}", name=name, obj=self)

    def __repr__(self) -> str:
        level = "link" if self.parts is None else "module"
        return f"<Denoc of {self.model.name!r} at {level} level: N is {6 * len(self._stack)} x {len(self.order)}>"

    def __str__(self) -> str:
        rows, columns = self.N.shape
        level = "link" if self.parts is None else "module"
        title = f"DeNOC of {self.model.name} at {level} level: N = N_l N_d is {rows} x {columns}"
        modules = [] if self.parts is None else [str(self.parts)]
        return "\n".join([title, *modules, self.N_l.pattern(), self.N_d.pattern()])

    # ------------------------------------------------------------ blocks

    def _find(self, name: str) -> tuple[Denoc, int]:
        """Return the level at which a name stands for a block, and the index of that block."""
        level = self if name in self.labels else self.link_level
        return level, level._block(name)

    def _block(self, name: str) -> int:
        refuse_unknown("link" if self.parts is None else "module or link", name, self.labels)
        return self.labels.index(name)

    def _rows(self, i: int) -> slice:
        return self._twist_axis.slices[i]

    def _columns(self, i: int) -> slice:
        return self._rate_axis.slices[i]

    def _propagation(self, j: int, i: int) -> Array:
        """Return A_{j,i} between blocks of this level."""
        return self.N_l.array[self._rows(j), self._rows(i)]

    def _own_columns(self, i: int) -> Array:
        """Return N_bar of a block of this level."""
        return self.N_d.array[self._rows(i), self._columns(i)]

    def _carriers(self, i: int) -> list[int]:
        """Return the blocks on the path from i to the base, nearest first, without i."""
        found: list[int] = []
        while (i := self._parents[i]) != BASE:
            found.append(i)
        return found

    def _per_link(self, matrices: Sequence[Array], name: str) -> BlockMatrix:
        """Return the block diagonal of one 6x6 matrix per link, given in the order of the bodies."""
        array = np.zeros((self._twist_axis.size,) * 2)
        for row, k in enumerate(self._stack):
            array[6 * row : 6 * row + 6, 6 * row : 6 * row + 6] = matrices[k]
        return BlockMatrix(array, self._twist_axis, self._twist_axis, name)

    def _per_block(self, matrices: Sequence[Array], name: str) -> BlockMatrix:
        """Return the block diagonal along the joint rates."""
        array = np.zeros((self._rate_axis.size,) * 2)
        for i, matrix in enumerate(matrices):
            array[self._columns(i), self._columns(i)] = matrix
        return BlockMatrix(array, self._rate_axis, self._rate_axis, name)

    def _along_paths(self, entry: Callable[[int, int], Array]) -> Array:
        """Return a matrix filled in the columns of the last link of i where module i carries j (Shah eq. 4.22)."""
        array = np.zeros((self._twist_axis.size,) * 2)
        for j, group in enumerate(self._groups):
            for i in self._carriers(j):
                last = self._groups[i][-1]
                columns = slice(self._rows(i).stop - 6, self._rows(i).stop)
                array[self._rows(j), columns] = np.vstack([entry(k, last) for k in group])
        return array

    def _within_modules(self, entry: Callable[[int, int], Array]) -> Array:
        """Return a matrix filled, in each module, in the lower triangle of its links' rates (Shah eq. 4.22)."""
        array = np.zeros((self._twist_axis.size, self._rate_axis.size))
        for i, group in enumerate(self._groups):
            for place, k in enumerate(group):
                start = self._rows(i).start + 6 * place
                for m in group[: place + 1]:
                    array[start : start + 6, self._link_columns[m]] = entry(k, m)
        return array

    def _laid_out(self, stacked: Array) -> Array:
        """Return a vector that is stacked block by block in the layout of ``v``."""
        result = np.empty_like(stacked)
        result[self.order] = stacked
        return result

    # ------------------------------------------------------------ what the blocks are made of

    def _shift(self, k: int, m: int) -> Array:
        """Return A_{k,m} between two links."""
        return twist_shift(self._states[m].origin - self._states[k].origin)

    def _shift_rate(self, k: int, m: int) -> Array:
        """Return the time derivative of A_{k,m}; the origins' velocities include the sliding of prismatic joints."""
        rate = np.zeros((6, 6))
        rate[3:, :3] = cross_matrix(self._states[m].twist[3:] - self._states[k].twist[3:])
        return rate

    @cached_property
    def _armature(self) -> Array:
        rotors: Array = self.model.joint_vector("armature")[self.order]
        return rotors

    def _own_masses(self) -> list[Array]:
        return [np.array(self.M.array[rows, rows]) for rows in self._twist_axis.slices]

    @cached_property
    def _composites(self) -> list[Array]:
        """M~_i = M_i + sum of A_ji^T M~_j A_ji over the children j (Shah eq. 5.19)."""
        totals = self._own_masses()
        for j in reversed(range(len(totals))):
            i = self._parents[j]
            if i != BASE:
                totals[i] += self._propagation(j, i).T @ totals[j] @ self._propagation(j, i)
        return totals

    def _elimination(self, name: str) -> Elimination:
        level, i = self._find(name)
        return level._eliminations[i]

    @cached_property
    def _eliminations(self) -> list[Elimination]:
        """Block reverse Gaussian elimination, from the tips to the base (Shah eq. 5.34-5.37)."""
        totals = self._own_masses()
        steps: list[Elimination] = []
        for j in reversed(range(len(totals))):
            step = self._eliminate(j, totals[j])
            steps.append(step)
            i = self._parents[j]
            if i != BASE:
                given = totals[j] - step.psi @ step.psi_hat.T  # Phi_j M^_j
                totals[i] += self._propagation(j, i).T @ given @ self._propagation(j, i)
        return steps[::-1]

    def _eliminate(self, j: int, inertia: Array) -> Elimination:
        columns = self._own_columns(j)
        psi_hat = inertia @ columns
        pivot = columns.T @ psi_hat + np.diag(self._armature[self._columns(j)])
        if pivot.size and np.linalg.eigvalsh(pivot)[0] <= PIVOT_TOLERANCE * np.abs(inertia).max():
            raise SingularError(
                f"the pivot of {self._rate_axis.labels[j]!r} is singular: what it carries has no inertia along its "
                "freedom, or an Euler-angle joint is in gimbal lock. The GIM has no inverse here"
            )
        inverse = np.linalg.inv(pivot)
        psi = psi_hat @ inverse
        return Elimination(inertia, psi_hat, psi, np.eye(len(psi)) - psi @ columns.T, pivot, inverse)

    def _articulated_propagations(self, j: int) -> Iterator[tuple[int, Array]]:
        """Yield A^_{j,i} for every carrier i of j, nearest first (Shah eq. 5.45-5.46, Phi transposed)."""
        propagation, h = np.eye(len(self._eliminations[j].phi)), j
        for i in self._carriers(j):
            if h != j:
                propagation = propagation @ self._eliminations[h].phi.T
            propagation = propagation @ self._propagation(h, i)
            yield i, propagation
            h = i


def build(model: Model, q: Array, v: Array, parts: Modules | None = None) -> Denoc:
    """Return the DeNOC matrices of a state, link by link or for given modules."""
    return Denoc(model, q, v, parts)


def _link_states(model: Model, q: Array, v: Array) -> list[LinkState]:
    """Return the quantities that the recursions compute for each link, converted from body axes to world axes."""
    coordinates, speeds = split(q), split(v)
    posed = kinematics.poses(model, coordinates)
    moving = kinematics.twists(model, coordinates, speeds, None, posed)
    own = zip(positions(model, coordinates), rates(model, speeds), strict=True)
    states = []
    for link, p, t, (own_q, own_v) in zip(model.links, posed, moving, own, strict=True):
        pose = pack(p.pose, ())
        turn = np.kron(np.eye(2), pose[:3, :3])
        twist = turn @ pack(t.velocity, ())
        columns = turn @ pack(p.subspace, ()).T
        columns_rate = np.kron(np.eye(2), cross_matrix(twist[:3])) @ columns
        apparent = link.kind.subspace_rate(own_q, own_v)
        if apparent is not None:
            columns_rate = columns_rate + turn @ pack(apparent, ()).T
        mass = turn @ pack(link.inertia.articulated().to_rows(), ()) @ turn.T
        states.append(LinkState(pose[:3, 3], twist, columns, columns_rate, mass))
    return states


def _single(value: ArrayLike, shape: tuple[int, ...], name: str, meaning: str) -> Array:
    """Return an array after checking that it is not a batch."""
    array = as_array(value, shape, name, meaning)
    if array.shape != shape:
        raise ShapeError(f"{name} must have shape {shape} ({meaning}), got {array.shape}: DeNOC is for one state")
    return array


def _range(where: slice) -> range:
    return range(where.start, where.stop)
