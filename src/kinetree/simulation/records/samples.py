"""Measurements and commands of a sampled controller, at its own instants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ...spatial.arrays import Array


@dataclass(frozen=True, eq=False)
class Samples:
    """Measurements and commands of a sampled controller, one row per sample, followed by the batch, if any.

    Attributes
    ----------
    time : ndarray, shape (K,)
        The sample instants.
    q, v : ndarray, shapes (K, ..., nq), (K, ..., nv)
        Measured state, after noise, encoder counts and filters.
    estimated_q, estimated_v : ndarray
        State that the law was evaluated with: the measured one, or an observer's estimate.
    load : ndarray, shape (K, ..., nv or 0)
        External forces estimated by a :class:`kinetree.control.MomentumObserver`.
    tau : ndarray, shape (K, ..., nv)
        Commanded forces, limited and rounded by the converter.
    arrival : ndarray, shape (K,)
        Times at which the commanded forces began to act.
    """

    time: Array
    q: Array
    v: Array
    estimated_q: Array
    estimated_v: Array
    load: Array
    tau: Array
    arrival: Array

    def __repr__(self) -> str:
        """Return a summary without all the numbers."""
        if not len(self):
            return "no samples"
        shape = self.v.shape[1:-1]
        batch = f" of each of {int(np.prod(shape))} simulations" if shape else ""
        between = f", {self.time[0]:g} to {self.time[-1]:g} s" + (
            f" every {self.time[1] - self.time[0]:g} s" if len(self) > 1 else ""
        )
        largest = np.abs(self.tau).max() if self.tau.size else 0.0
        return f"{len(self)} samples{batch}{between}: time, q, v, estimated_q, estimated_v, load, tau (largest " + (
            f"{largest:.4g}), arrival"
        )

    def as_dict(self) -> dict[str, Array]:
        """Return the arrays by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @staticmethod
    def checked(given: Mapping[str, Array], record: Mapping[str, Array]) -> Samples:
        """Return samples read from a file; refuse those that do not fit one another, or the record."""
        names = [f.name for f in fields(Samples)]
        if sorted(given) != sorted(names):
            raise ValueError(f"samples are {', '.join(names)}, not {', '.join(map(str, given))}")
        count, q, v = len(given["time"]), record["q"].shape[1:], record["v"].shape[1:]
        wanted = {"q": q, "v": v, "estimated_q": q, "estimated_v": v, "tau": v, "time": (), "arrival": ()}
        load = given["load"]
        if load.size == 0:
            given = {**given, "load": load.reshape(count, *v[:-1], 0)}
        elif load.shape != (count, *v):
            raise ValueError(f"load of the samples has shape {load.shape}")
        for name, shape in wanted.items():
            if given[name].shape != (count, *shape):
                raise ValueError(f"{name} of the samples has shape {given[name].shape}, not {(count, *shape)}")
        return Samples(**given)

    def __len__(self) -> int:
        return len(self.time)

    def __getitem__(self, where: Any) -> Samples:
        """Return some of the rows."""
        return Samples(*(getattr(self, f.name)[where] for f in fields(self)))

    def lane(self, at: tuple[Any, ...]) -> Samples:
        """Return the samples of one simulation of a batch."""
        whole = self.as_dict()
        return Samples(**{name: x if name in ("time", "arrival") else x[at] for name, x in whole.items()})
