"""Which of Pinocchio's joints stands for which of ours, and how coordinates translate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

import kinetree as kt
from kinetree.model.joints import JointKind

Array = np.ndarray

AXES = {"X": np.eye(3)[0], "Y": np.eye(3)[1], "Z": np.eye(3)[2]}
SWAP = [3, 4, 5, 0, 1, 2]
"""Angular and linear parts change places."""

EASE = 0.3


def _eased(s: Any) -> Any:
    return s + EASE * kt.sin(s)


EASED_HINGE = kt.Custom(
    1,
    lambda s: (
        ((kt.cos(_eased(s)), -kt.sin(_eased(s)), 0.0), (kt.sin(_eased(s)), kt.cos(_eased(s)), 0.0), (0.0, 0.0, 1.0)),
        (0.0, 0.0, 0.0),
    ),
    label="eased hinge",
)
"""A user-made joint that Pinocchio can imitate: a hinge whose angle is s + 0.3 sin s."""


@dataclass(frozen=True)
class Counterpart:
    """What stands for one of our joints in Pinocchio.

    Attributes
    ----------
    models : list of pin.JointModel
        One joint, or a chain of them.
    position : callable
        Pinocchio's coordinates from ours.
    tangent : callable or None
        The matrix T(q) with ``v_pin = T v``, written so that q may be complex.
    constant : bool
        Whether T does not depend on q.
    rotors : tuple of bools
        Freedoms of ours whose rotor inertia Pinocchio can express: those whose velocity
        is the same number there.
    """

    models: list[Any]
    position: Callable[[Array], Array] = lambda q: q
    tangent: Callable[[Array], Array] | None = None
    constant: bool = True
    rotors: tuple[bool, ...] = (True,) * 6


def counterpart(kind: JointKind, *, chain: bool = False) -> Counterpart:
    """The joint, or the chain of single joints, that Pinocchio has for ``kind``."""
    if chain and type(kind) in _CHAINS:
        return _CHAINS[type(kind)](kind)
    return _NATIVE[type(kind)](kind)


def _single(aligned: str, axis: Sequence[float], *extra: float) -> Any:
    """A one-DOF joint, by its aligned class where the axis is a coordinate axis."""
    for name, unit in AXES.items():
        if np.array_equal(axis, unit):
            return getattr(pin, f"JointModel{aligned}{name}")(*extra)
    unaligned = {"R": "RevoluteUnaligned", "P": "PrismaticUnaligned", "H": "HelicalUnaligned"}[aligned]
    return getattr(pin, f"JointModel{unaligned}")(np.array(axis, dtype=float), *extra)


def _revolute(axis: Sequence[float]) -> Any:
    return _single("R", axis)


def _prismatic(axis: Sequence[float]) -> Any:
    return _single("P", axis)


def _unbounded(axis: Sequence[float]) -> Any:
    """An unbounded hinge. Python can only make the aligned ones; a URDF can make the others."""
    for name, unit in AXES.items():
        if np.array_equal(axis, unit):
            return getattr(pin, f"JointModelRUB{name}")()
    text = " ".join(repr(float(x)) for x in axis)
    urdf = (
        "<robot name='r'><link name='a'/><link name='b'/><joint name='j' type='continuous'>"
        f"<parent link='a'/><child link='b'/><axis xyz='{text}'/></joint></robot>"
    )
    return pin.buildModelFromXML(urdf).joints[1]


def _composite(models: Sequence[Any]) -> Any:
    joint = pin.JointModelComposite(models[0])
    for model in models[1:]:
        joint.addJoint(model)
    return joint


def _turn(axis: str, angle: Any) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    i, j = {"X": (1, 2), "Y": (2, 0), "Z": (0, 1)}[axis]
    m = np.eye(3, dtype=np.result_type(angle, float))
    m[i, i] = m[j, j] = c
    m[i, j], m[j, i] = -s, s
    return m


def _euler_rotation(sequence: str, angles: Array) -> Array:
    return _turn(sequence[0], angles[0]) @ _turn(sequence[1], angles[1]) @ _turn(sequence[2], angles[2])


def _euler_tangent(sequence: str, angles: Array) -> Array:
    """Angular velocity in body axes per unit of the angles' rates."""
    r2, r3 = _turn(sequence[1], angles[1]), _turn(sequence[2], angles[2])
    first, second, third = (AXES[letter] for letter in sequence)
    return np.stack([r3.T @ r2.T @ first, r3.T @ second, third], axis=-1)


def _quaternion(rotation: Array) -> Array:
    return pin.Quaternion(rotation).coeffs()


def _euler_ball(kind: kt.EulerSpherical) -> Counterpart:
    if kind.sequence == "ZYX":
        return Counterpart([pin.JointModelSphericalZYX()])
    return Counterpart(
        [pin.JointModelSpherical()],
        lambda q: _quaternion(_euler_rotation(kind.sequence, q)),
        lambda q: _euler_tangent(kind.sequence, q),
        constant=False,
        rotors=(False,) * 3,
    )


def _euler_free(kind: kt.EulerFree) -> Counterpart:
    def tangent(q: Array) -> Array:
        t = np.zeros((6, 6), dtype=q.dtype)
        t[:3, 3:] = _euler_rotation(kind.sequence, q).T
        t[3:, :3] = _euler_tangent(kind.sequence, q)
        return t

    return Counterpart(
        [pin.JointModelFreeFlyer()],
        lambda q: np.concatenate([q[3:], _quaternion(_euler_rotation(kind.sequence, q))]),
        tangent,
        constant=False,
        rotors=(False,) * 6,
    )


def _planar(kind: kt.Planar) -> Counterpart:
    if kind.normal != (0.0, 0.0, 1.0):
        chain = _planar_chain(kind)
        return Counterpart([_composite(chain.models)], chain.position, chain.tangent)

    def tangent(q: Array) -> Array:
        c, s = np.cos(q[0]), np.sin(q[0])
        return np.array([[0, c, s], [0, -s, c], [1, 0, 0]])

    return Counterpart(
        [pin.JointModelPlanar()],
        lambda q: np.array([q[1], q[2], np.cos(q[0]), np.sin(q[0])]),
        tangent,
        constant=False,
        rotors=(True, False, False),
    )


def _planar_chain(kind: kt.Planar) -> Counterpart:
    order = [1, 2, 0]
    axes = _planar_axes(kind)
    models = [_prismatic(axes[0]), _prismatic(axes[1]), _revolute(kind.normal)]
    return Counterpart(models, lambda q: q[order], lambda q: np.eye(3)[order])


def _planar_axes(kind: kt.Planar) -> Array:
    """The two directions of travel, read off the joint's own transform."""
    rows = [kind.transform([0.0, 1.0, 0.0]).homogeneous(), kind.transform([0.0, 0.0, 1.0]).homogeneous()]
    return np.array(rows)[:, :3, 3]


def _euler_free_chain(kind: kt.EulerFree) -> Counterpart:
    order = [3, 4, 5, 0, 1, 2]
    models = [_prismatic(AXES[a]) for a in "XYZ"] + [_revolute(AXES[a]) for a in kind.sequence]
    return Counterpart(models, lambda q: q[order], lambda q: np.eye(6)[order])


def _turns(kind: Any) -> Counterpart:
    return Counterpart([_revolute(AXES[a]) for a in kind.sequence])


def _free_position(q: Array) -> Array:
    return np.concatenate([q[4:], q[:4]])


_NATIVE: dict[type, Callable[[Any], Counterpart]] = {
    kt.Revolute: lambda k: Counterpart([_revolute(k.axis)]),
    kt.Continuous: lambda k: Counterpart([_unbounded(k.axis)], lambda q: np.array([np.cos(q[0]), np.sin(q[0])])),
    kt.Prismatic: lambda k: Counterpart([_prismatic(k.axis)]),
    kt.Helical: lambda k: Counterpart([_single("H", k.axis, k.pitch)]),
    kt.Cylindrical: lambda k: Counterpart([_composite([_revolute(k.axis), _prismatic(k.axis)])]),
    kt.Universal: lambda k: Counterpart([pin.JointModelUniversal(*(AXES[a] for a in k.sequence))]),
    kt.Spherical: lambda k: Counterpart([pin.JointModelSpherical()]),
    kt.EulerSpherical: _euler_ball,
    kt.Planar: _planar,
    kt.Translation: lambda k: Counterpart([pin.JointModelTranslation()]),
    kt.Free: lambda k: Counterpart([pin.JointModelFreeFlyer()], _free_position, lambda q: np.eye(6)[SWAP]),
    kt.EulerFree: _euler_free,
    kt.Custom: lambda k: Counterpart(
        [pin.JointModelRZ()],
        lambda q: q + EASE * np.sin(q),
        lambda q: np.array([[1.0 + EASE * np.cos(q[0])]]),
        constant=False,
        rotors=(False,),
    ),
}

_CHAINS: dict[type, Callable[[Any], Counterpart]] = {
    kt.Cylindrical: lambda k: Counterpart([_revolute(k.axis), _prismatic(k.axis)]),
    kt.Universal: _turns,
    kt.EulerSpherical: _turns,
    kt.Planar: _planar_chain,
    kt.EulerFree: _euler_free_chain,
}
