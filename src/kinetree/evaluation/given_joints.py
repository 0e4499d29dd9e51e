"""Accelerations or forces given to joints by name, read into one vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError, OptionError
from ..model.tree import Model
from ..spatial.arrays import Array, as_array, batch_shape


class GivenAtJoints(NamedTuple):
    """The given accelerations and forces of hybrid dynamics."""

    values: Array
    """An acceleration or a force per freedom; zero if none is given."""
    moved: tuple[bool, ...]
    """Per joint, whether its motion is given."""

    def freedoms(self, model: Model) -> tuple[int, ...]:
        """Return the entries that are accelerations."""
        joints = [j for j, known in zip(model.joints, self.moved, strict=True) if known]
        return tuple(k for j in joints for k in j.freedoms)


def read_given(model: Model, a: Mapping[str, Any] | None, tau: Mapping[str, Any] | None) -> GivenAtJoints:
    """Return accelerations and forces by joint name as one vector; refuse duplicates and unknown joints."""
    for word, mapping in (("a", a), ("tau", tau)):
        if mapping is not None and not isinstance(mapping, Mapping):
            raise OptionError(f"{word} must map joint names to values, such as {{{model.joints[0].name!r}: 1.0}}")
    given, prescribed = dict(tau or {}), dict(a or {})
    both = set(given) & set(prescribed)
    if both:
        raise OptionError(f"joint {sorted(both)[0]!r} is given both an acceleration and a force")
    moved = [False] * len(model.joints)
    batches, places = dict[str, tuple[Array, int]](), list[slice]()
    for source, is_motion in ((prescribed, True), (given, False)):
        for name, value in source.items():
            joint = model.joint(name)
            if joint.mimic:
                raise ModelError(f"joint {name!r} follows {joint.mimic.leader!r}: prescribe that one")
            what = f"the value of joint {name!r}"
            array = as_array(value, (), what)
            if joint.nv == 1 and (array.ndim == 0 or array.shape[-1] != 1):
                array = array[..., None]
            array = as_array(array, (joint.nv,), what)
            batches[what] = (array, 1)
            places.append(joint.v_slice)
            moved[model.joint_index[name]] = is_motion
    values = np.zeros((*batch_shape(**batches), model.nv))
    for place, (array, _) in zip(places, batches.values(), strict=True):
        values[..., place] = array
    return GivenAtJoints(values, tuple(moved))
