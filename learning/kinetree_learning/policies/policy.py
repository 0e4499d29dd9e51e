"""``kt.Policy``: a network from observations to actions, in one file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from kinetree.errors import MissingFileError, ModelError, OptionError, ShapeError, UnknownNameError
from kinetree.io.paths import as_path
from kinetree.spatial.arrays import Array
from kinetree.spatial.numbers import shown

from . import onnx_files
from .c_policy import ExportedPolicy, write_c
from .onnx_files import Network, settled
from .operations import ACTIVATIONS, Operation

OBSERVATION, ACTION = "observation", "action"

OF_TORCH = {
    "ELU": "elu", "ReLU": "relu", "Tanh": "tanh", "SELU": "selu", "Sigmoid": "sigmoid", "SiLU": "silu",
    "Softplus": "softplus", "Softsign": "softsign", "LeakyReLU": "leaky_relu",
}  # fmt: skip
"""Names of PyTorch's activations."""

USUAL_OF_TORCH = {"ELU": {"alpha": 1.0}, "LeakyReLU": {"negative_slope": 0.01}, "Softplus": {"beta": 1.0}}
"""Numbers of these that a policy has with their usual value only."""


class Policy:
    """A network from observations to actions; it computes in double precision with the numbers of its file.

    Make one from a file with :meth:`load`, from numbers with :meth:`of_layers`, or from a PyTorch network with
    :meth:`of_torch`.

    Attributes
    ----------
    observation_size, action_size : int
    info : dict of str to str
        What the file says about itself, such as the task that it was trained for.

    Examples
    --------
    >>> import numpy as np
    >>> import kinetree as kt
    >>> policy = kt.Policy.of_layers([np.ones((3, 2)), np.ones((1, 3))], [np.zeros(3), [0.5]], activation="tanh")
    >>> policy(np.zeros((5, 2))).shape
    (5, 1)
    """

    def __init__(self, network: Network) -> None:
        self._network = self._checked(network)
        self.observation_size, self.info = network.size, dict(network.info)
        self.action_size = self.sizes[network.output]

    def _checked(self, network: Network) -> Network:
        """Find the sizes of all vectors; refuse operations that do not fit together."""
        sizes = {network.input: network.size} | {name: len(x) for name, x in network.constants.items()}
        operations = []
        for operation in network.operations:
            missing = [name for name in operation.inputs if name not in sizes]
            if missing:
                raise ModelError(f"the network uses {missing[0]!r} before it is computed")
            operation = settled(operation, sizes[operation.inputs[0]])
            size = _size(operation, [sizes[name] for name in operation.inputs])
            operations.append(operation)
            sizes[operation.output] = size
        if network.output not in sizes:
            raise ModelError(f"the network does not compute its output {network.output!r}")
        self.sizes: Mapping[str, int] = sizes
        """Length of each vector by name."""
        return network._replace(operations=operations)

    # ------------------------------------------------------------------ making

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a policy from an ONNX file, one's own or one that a training library has exported.

        Parameters
        ----------
        path : path-like
            A network with one input (batch, n) and dense layers; ``pip install 'kinetree[policy]'``.
        """
        place = as_path(path, "the file of a policy")
        if not place.is_file():
            raise MissingFileError(f"there is no policy {str(place)!r}")
        return cls(onnx_files.read(place))

    @classmethod
    def of_layers(
        cls, weights: Sequence[ArrayLike], biases: Sequence[ArrayLike], activation: str = "elu", *,
        mean: ArrayLike | None = None, deviation: ArrayLike | None = None, limit: float | None = None,
        info: Mapping[str, str] | None = None,
    ) -> Self:  # fmt: skip
        """Make a policy of dense layers, with an activation after each but the last.

        Parameters
        ----------
        weights : sequence of array_like (m, n)
        biases : sequence of array_like (m,)
        activation : str
            ``"elu"``, ``"relu"``, ``"tanh"``, ``"silu"``, ...
        mean, deviation : array_like (n,), optional
            Observations are normalized, ``(x - mean) / deviation``.
        limit : float, optional
            Actions are limited to ``-limit`` and ``limit``.
        info : mapping of str to str, optional
        """
        if activation not in ACTIVATIONS:
            raise UnknownNameError("activation", activation, ACTIVATIONS)
        if not len(weights) or len(weights) != len(biases):
            raise OptionError(f"give as many biases as weights, at least one: {len(weights)} and {len(biases)}")
        tables = [np.asarray(w, dtype=float) for w in weights]
        if any(w.ndim != 2 for w in tables):
            raise ShapeError("weights of a layer are a table (outputs, inputs)")
        network = _OperationStack(tables[0].shape[1])
        network.normalize(mean, deviation)
        for k, (w, b) in enumerate(zip(tables, biases, strict=True)):
            bias = np.asarray(b, dtype=float)
            if bias.shape != w.shape[:1]:
                raise ShapeError(f"layer {k} has weights {w.shape}, so its bias is ({len(w)},), not {bias.shape}")
            network.add("dense", weights=w, bias=bias)
            if k < len(tables) - 1:
                network.add(activation)
        network.limit(limit)
        return cls(network.finished(info))

    @classmethod
    def of_torch(
        cls, *modules: Any, mean: ArrayLike | None = None, deviation: ArrayLike | None = None,
        limit: float | None = None, info: Mapping[str, str] | None = None,
    ) -> Self:  # fmt: skip
        """Make a policy of PyTorch modules: linear layers and activations, also nested in ``Sequential``.

        Parameters
        ----------
        *modules : torch.nn.Module
            In the order in which they are applied.
        mean, deviation, limit, info
            As in :meth:`of_layers`.
        """
        network: _OperationStack | None = None
        for module in _flat(modules):
            kind = type(module).__name__
            if kind == "Linear":
                weights = np.array(module.weight.detach().cpu().numpy(), dtype=float)
                bias = np.zeros(len(weights))
                if module.bias is not None:
                    bias = np.array(module.bias.detach().cpu().numpy(), dtype=float)
                if network is None:
                    network = _OperationStack(weights.shape[1])
                    network.normalize(mean, deviation)
                network.add("dense", weights=weights, bias=bias)
            elif kind in OF_TORCH and network is not None:
                for name, usual in USUAL_OF_TORCH.get(kind, {}).items():
                    if (value := getattr(module, name, usual)) != usual:
                        raise OptionError(f"{kind} with {name} = {value:g} is not part of a policy, only {usual:g}")
                network.add(OF_TORCH[kind])
            elif kind not in ("Identity", "Dropout", "Flatten"):
                raise OptionError(f"{kind} is not part of a policy: known are Linear and {', '.join(OF_TORCH)}")
        if network is None:
            raise OptionError("a policy needs at least one linear layer")
        network.limit(limit)
        return cls(network.finished(info))

    # ------------------------------------------------------------------ using

    def __call__(self, observations: Any) -> Any:
        """Return actions (..., m) for observations (..., n), or m scalars of any kind for a list of n of them."""
        if isinstance(observations, (list, tuple)) and not all(isinstance(x, (int, float)) for x in observations):
            if len(observations) != self.observation_size:
                raise self._refused(f"{len(observations)} numbers")
            return self._result(list(observations))
        given = np.asarray(observations, dtype=float)
        if given.shape[-1:] != (self.observation_size,):
            raise self._refused(f"an array of shape {given.shape}")
        with np.errstate(over="ignore"):
            return self._result(given)

    def _refused(self, got: str) -> ShapeError:
        return ShapeError(f"an observation of this policy has {self.observation_size} numbers, got {got}")

    def _result(self, observations: Any) -> Any:
        on_arrays, network = isinstance(observations, np.ndarray), self._network
        vectors: dict[str, Any] = {name: x if on_arrays else x.tolist() for name, x in network.constants.items()}
        vectors[network.input] = observations
        for operation in network.operations:
            vectors[operation.output] = operation.of([vectors[name] for name in operation.inputs])
        return vectors[network.output]

    @cached_property
    def parameter_count(self) -> int:
        """The number of weights and biases."""
        return sum(op.weights.size + op.bias.size for op in self._network.operations)

    # ------------------------------------------------------------------ keeping

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the policy as an ONNX file, in single precision; ``info`` goes into it."""
        place = as_path(path, "the file of a policy")
        if place.suffix != ".onnx":
            raise OptionError(f"the file of a policy ends in .onnx, not {place.name!r}")
        onnx_files.write(place, self._network._replace(info=self.info), self.action_size)
        return place

    def codegen(
        self, directory: str | os.PathLike[str] = ".", prefix: str = "policy", precision: str = "single"
    ) -> ExportedPolicy:
        """Write the policy as C99 without a heap: ``prefix.c``, ``prefix.h`` and ``prefix_test.c``.

        Parameters
        ----------
        directory : path-like
        prefix : str
            Name of the function and the files.
        precision : {"single", "double"}

        Examples
        --------
        >>> import numpy as np
        >>> import kinetree as kt
        >>> policy = kt.Policy.of_layers([np.eye(2)], [np.zeros(2)])
        >>> policy.codegen("build", "walk").header.name  # doctest: +SKIP
        'walk.h'
        """
        return write_c(self, self._network, as_path(directory, "the folder of C files"), prefix, precision)

    def __repr__(self) -> str:
        sizes = f"{self.observation_size} observations to {self.action_size} actions"
        return f"<Policy: {sizes}, {self.parameter_count} numbers>"


class _OperationStack:
    """Operations one after the other."""

    def __init__(self, size: int) -> None:
        self.size, self.operations, self.constants = size, list[Operation](), dict[str, Array]()

    @property
    def last(self) -> str:
        """The name of the last vector."""
        return self.operations[-1].output if self.operations else OBSERVATION

    def add(self, kind: str, *others: str, **more: Any) -> None:
        """Add an operation on the last vector."""
        self.operations.append(Operation(kind, (self.last, *others), f"vector_{len(self.operations)}", **more))

    def add_binary(self, kind: str, name: str, numbers: ArrayLike) -> None:
        """Add an operation on the last vector and fixed numbers."""
        self.constants[name] = np.atleast_1d(np.asarray(numbers, dtype=float))
        self.add(kind, name)

    def normalize(self, mean: ArrayLike | None, deviation: ArrayLike | None) -> None:
        """Subtract a mean, and divide by a deviation, of those that are given."""
        if mean is not None:
            self.add_binary("subtract", "mean", mean)
        if deviation is not None:
            if np.any(np.asarray(deviation) <= 0.0):
                raise OptionError("deviations of observations must be positive")
            self.add_binary("divide", "deviation", deviation)

    def limit(self, most: float | None) -> None:
        """Limit the last vector to both sides, if there is a limit."""
        if most is not None:
            self.add_binary("maximum", "least", -float(most))
            self.add_binary("minimum", "most", float(most))

    def finished(self, info: Mapping[str, str] | None) -> Network:
        """Return the whole network."""
        last = self.operations[-1]
        self.operations[-1] = Operation(last.kind, last.inputs, ACTION, last.weights, last.bias, last.places)
        return Network(self.operations, self.constants, OBSERVATION, ACTION, self.size, dict(info or {}))


def _flat(modules: Iterable[Any]) -> Iterable[Any]:
    """Yield modules, and those inside containers, in order."""
    for module in modules:
        inner = list(module.children())
        if inner and type(module).__name__ in ("Sequential", "ModuleList", "MLP"):
            yield from _flat(inner)
        else:
            yield module


def _size(operation: Operation, sizes: Sequence[int]) -> int:
    """Return the length of a result; refuse vectors that do not fit."""
    if operation.kind == "dense":
        rows, columns = operation.weights.shape
        if columns != sizes[0]:
            raise ShapeError(f"a layer with weights {operation.weights.shape} gets {sizes[0]} numbers")
        return rows
    if operation.kind == "join":
        return sum(sizes)
    if operation.kind == "take":
        if any(not -sizes[0] <= k < sizes[0] for k in operation.places):
            raise ShapeError(f"entries {shown(operation.places)} of {sizes[0]} numbers")
        return len(operation.places)
    if len({n for n in sizes if n > 1}) > 1:
        raise ShapeError(f"{operation.kind} gets vectors of {' and '.join(map(str, sizes))} numbers")
    return max(sizes)
