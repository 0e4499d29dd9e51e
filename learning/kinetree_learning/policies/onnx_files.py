"""Networks in ONNX files: those that Stable-Baselines3, rsl_rl, Brax and others export, and our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import FileFormatError, UnsupportedError
from kinetree.io.atomic_files import beside
from kinetree.spatial.arrays import Array

from .operations import SELU_ALPHA, SELU_SCALE, Operation

OPSET = 17
"""Version of ONNX's operators that files are written with."""


class Network(NamedTuple):
    """The contents of a file."""

    operations: list[Operation]
    constants: dict[str, Array]
    """Vectors with fixed numbers."""
    input: str
    output: str
    size: int
    """Length of an observation."""
    info: dict[str, str]
    """What the file says about itself."""


FUNCTIONS = {
    "Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Softplus": "softplus", "Softsign": "softsign", "Exp": "exp",
    "Neg": "negative",
}  # fmt: skip
"""ONNX's names of functions without attributes."""

TWO = {"Add": "add", "Sub": "subtract", "Mul": "multiply", "Div": "divide", "Max": "maximum", "Min": "minimum"}
"""ONNX's names of functions of two vectors."""

SAME = ("Identity", "Cast", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Dropout")
"""Operators that leave the numbers of a vector as they are."""


def package() -> ModuleType:
    """Import onnx, or say how to get it."""
    try:
        import onnx  # needed only by those who read or write such files
    except ImportError:
        raise UnsupportedError("policies in ONNX files need the package onnx: pip install 'kinetree[policy]'") from None
    found: ModuleType = onnx
    return found


def read(path: Path) -> Network:
    """Read a network from observations (batch, n) to actions (batch, m).

    Raises
    ------
    FileFormatError
        If it is not such a file, or contains an operator that is not known here; the message names its node.
    """
    onnx = package()
    try:
        model = onnx.load(str(path))
    except Exception as problem:  # what protobuf raises is no public class
        raise FileFormatError(f"{path}: this is not an ONNX file: {str(problem).splitlines()[0][:200]}") from None
    if not model.graph.node:
        raise FileFormatError(f"{path}: this is not an ONNX file: it contains no network")
    return _GraphReader(onnx, model, path).network()


class _GraphReader:
    """Turns the nodes of a graph into operations."""

    def __init__(self, onnx: ModuleType, model: Any, path: Path) -> None:
        self.onnx, self.graph, self.path = onnx, model.graph, path
        self.info = {entry.key: entry.value for entry in model.metadata_props}
        self.numbers: dict[str, Array] = {
            tensor.name: np.array(onnx.numpy_helper.to_array(tensor)) for tensor in self.graph.initializer
        }
        self.same: dict[str, str] = {}
        self.operations: list[Operation] = []

    def network(self) -> Network:
        """Return the whole network."""
        given = [x for x in self.graph.input if x.name not in self.numbers]
        if len(given) != 1:
            names = ", ".join(x.name for x in given)
            raise self.refused(
                f"a policy has one input, its observation, and this has {len(given)} ({names}): networks with a memory "
                "are not read"
            )
        dims = [d.dim_value for d in given[0].type.tensor_type.shape.dim]
        size = next((n for n in reversed(dims) if n > 0), 0)
        if not size or len(dims) > 2:
            raise self.refused(f"its input {given[0].name!r} must be (batch, n) with a known n, not {dims}")
        for node in self.graph.node:
            self.add(node)
        output = self.graph.output[0].name
        used = {name for operation in self.operations for name in operation.inputs}
        constants = {
            name: np.atleast_1d(np.squeeze(x)).astype(float) for name, x in self.numbers.items() if name in used
        }
        for name, x in constants.items():
            if x.ndim > 1:
                raise self.refused(f"the table {name!r} of shape {x.shape} is used as a vector")
        return Network(self.operations, constants, given[0].name, self.name(output), size, self.info)

    def name(self, of: str) -> str:
        """Return the vector that has the numbers of another one."""
        while of in self.same:
            of = self.same[of]
        return of

    def refused(self, why: str) -> FileFormatError:
        """Return an error about the file."""
        return FileFormatError(f"{self.path}: {why}")

    def add(self, node: Any) -> None:
        """Add the operations of a node."""
        kind, output = node.op_type, node.output[0]
        inputs = [self.name(x) for x in node.input if x]
        attributes = {a.name: self.onnx.helper.get_attribute_value(a) for a in node.attribute}
        if kind == "Constant":
            self.numbers[output] = np.array(self.onnx.numpy_helper.to_array(attributes["value"]))
        elif all(x in self.numbers for x in inputs) and kind in SAME:
            self.numbers[output] = self.numbers[inputs[0]]
        elif kind in SAME:
            self.same[output] = inputs[0]
        elif kind in FUNCTIONS:
            self.put(FUNCTIONS[kind], inputs, output)
        elif kind in TWO:
            if len(inputs) != 2:
                raise self.refused(f"{kind} of {len(inputs)} vectors ({node.name}) is not read, only of two")
            self.put(TWO[kind], inputs, output)
        elif (special := self.special().get(kind)) is not None:
            special(node, inputs, output, attributes)
        else:
            where = f" ({node.name})" if node.name else ""
            raise self.refused(
                f"the operator {kind}{where} is not read; known are dense layers (Gemm, MatMul), "
                f"{', '.join([*FUNCTIONS, 'Elu', 'Selu', 'LeakyRelu', 'Clip', *TWO, 'Concat', 'Slice', 'Gather'])}"
            )

    def special(self) -> Mapping[str, Callable[..., None]]:
        """Return what to do with operators that have attributes or tables."""
        return {
            "Gemm": self.gemm, "MatMul": self.matmul, "Elu": self.elu, "Selu": self.selu, "LeakyRelu": self.leaky,
            "Clip": self.clip, "Concat": self.concat, "Slice": self.sliced, "Gather": self.gather,
        }  # fmt: skip

    def put(self, kind: str, inputs: Sequence[str], output: str, **more: Any) -> None:
        """Add an operation."""
        self.operations.append(Operation(kind, tuple(inputs), output, **more))

    def constant(self, name: str, value: Any) -> str:
        """Add a vector with fixed numbers."""
        self.numbers[name] = np.atleast_1d(np.asarray(value, dtype=float))
        return name

    def table(self, name: str, what: str) -> Array:
        """Return a table of numbers."""
        if name not in self.numbers:
            raise self.refused(f"the {what} must be numbers of the file, and {name!r} is computed")
        return self.numbers[name].astype(float)

    def gemm(self, node: Any, inputs: Sequence[str], output: str, attributes: Mapping[str, Any]) -> None:
        """Add a dense layer."""
        if attributes.get("transA"):
            raise self.refused(f"Gemm with transA ({node.name}) is not read")
        weights = self.table(inputs[1], "weights") * attributes.get("alpha", 1.0)
        weights = weights if attributes.get("transB") else weights.T
        bias = np.zeros(len(weights))
        if len(inputs) > 2:
            bias = bias + np.squeeze(self.table(inputs[2], "bias")) * attributes.get("beta", 1.0)
        self.put("dense", inputs[:1], output, weights=weights, bias=bias)

    def matmul(self, node: Any, inputs: Sequence[str], output: str, attributes: Mapping[str, Any]) -> None:
        """Add a dense layer without bias."""
        weights = self.table(inputs[1], "weights").T
        self.put("dense", inputs[:1], output, weights=weights, bias=np.zeros(len(weights)))

    def elu(self, node: Any, inputs: Sequence[str], output: str, attributes: Mapping[str, Any]) -> None:
        """Add an exponential linear unit."""
        self.only(node, attributes, "alpha", 1.0)
        self.put("elu", inputs, output)

    def selu(self, node: Any, inputs: Sequence[str], output: str, attributes: Mapping[str, Any]) -> None:
        """Add a scaled exponential linear unit."""
        self.only(node, attributes, "alpha", SELU_ALPHA)
        self.only(node, attributes, "gamma", SELU_SCALE)
        self.put("selu", inputs, output)

    def leaky(self, node: Any, inputs: Sequence[str], output: str, attributes: Mapping[str, Any]) -> None:
        """Add a leaky rectifier."""
        self.only(node, attributes, "alpha", 0.01)
        self.put("leaky_relu", inputs, output)

    def only(self, node: Any, attributes: Mapping[str, Any], name: str, usual: float) -> None:
        """Refuse another value of an attribute than the usual one."""
        value = attributes.get(name, usual)
        if abs(value - usual) > 1e-6:
            raise self.refused(f"{node.op_type} with {name} = {value:g} is not read, only {usual:g}")

    def clip(self, node: Any, inputs: Sequence[str], output: str, attributes: Mapping[str, Any]) -> None:
        """Add limits."""
        given = [*node.input[1:], "", ""]
        low, high = ((self.name(x) if x else "") for x in given[:2])
        low = self.constant(f"{output} least", attributes["min"]) if "min" in attributes else low
        high = self.constant(f"{output} most", attributes["max"]) if "max" in attributes else high
        between = f"{output} above" if high else output
        if not low and not high:
            self.same[output] = inputs[0]
        if low:
            self.put("maximum", [inputs[0], low], between)
        if high:
            self.put("minimum", [between if low else inputs[0], high], output)

    def concat(self, node: Any, inputs: Sequence[str], output: str, attributes: Mapping[str, Any]) -> None:
        """Add the vectors one after the other."""
        if attributes["axis"] not in (1, -1):
            raise self.refused(f"Concat along axis {attributes['axis']} ({node.name}) is not read, only the last one")
        self.put("join", inputs, output)

    def sliced(self, node: Any, inputs: Sequence[str], output: str, attributes: Mapping[str, Any]) -> None:
        """Add some entries of a vector."""
        begin, end, axes, steps = (self.table(x, "bounds of Slice").astype(int).ravel() for x in (
            *inputs[1:3], *(inputs[3:4] or [self.constant("last axis", [-1])]),
            *(inputs[4:5] or [self.constant("one step", [1])])))  # fmt: skip
        if len(axes) != 1 or axes[0] not in (1, -1):
            raise self.refused(f"Slice along axes {axes.tolist()} ({node.name}) is not read, only the last one")
        self.take(inputs[0], output, slice(int(begin[0]), int(end[0]), int(steps[0])))

    def gather(self, node: Any, inputs: Sequence[str], output: str, attributes: Mapping[str, Any]) -> None:
        """Add chosen entries of a vector."""
        if attributes.get("axis", 0) not in (1, -1):
            raise self.refused(f"Gather along axis {attributes.get('axis', 0)} ({node.name}) is not read")
        self.put(
            "take", inputs[:1], output, places=tuple(self.table(inputs[1], "indices").astype(int).ravel().tolist())
        )

    def take(self, source: str, output: str, which: slice) -> None:
        """Add entries of a vector whose size is known when the network is complete."""
        self.put("take", [source], output, places=(which.start, which.stop, which.step, _AS_SLICE))


_AS_SLICE = -(2**40)
"""Marks places that are a slice until the size of the vector is known."""


def settled(operation: Operation, size: int) -> Operation:
    """Return an operation whose places are entries, for an input of some size."""
    if operation.kind != "take" or operation.places[-1:] != (_AS_SLICE,):
        return operation
    begin, end, step, _ = operation.places
    places = tuple(range(*slice(begin, min(end, size), step).indices(size)))
    return Operation("take", operation.inputs, operation.output, places=places)


# ------------------------------------------------------------------ writing

_OPERATORS = {name: own for own, name in FUNCTIONS.items()} | {name: own for own, name in TWO.items()}
_OPERATORS |= {"elu": "Elu", "selu": "Selu", "leaky_relu": "LeakyRelu"}


def write(path: Path, network: Network, actions: int) -> None:
    """Write a network, in single precision; the file appears complete or not at all."""
    onnx = package()
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    tables = [onnx.numpy_helper.from_array(x.astype(np.float32), name) for name, x in network.constants.items()]
    nodes = []
    for k, operation in enumerate(network.operations):
        output = operation.output
        if operation.kind == "dense":
            own = [f"weights_{k}", f"bias_{k}"]
            tables += [
                onnx.numpy_helper.from_array(x.astype(np.float32), name)
                for name, x in zip(own, (operation.weights, operation.bias), strict=True)
            ]
            nodes.append(helper.make_node("Gemm", [*operation.inputs, *own], [output], transB=1))
        elif operation.kind == "join":
            nodes.append(helper.make_node("Concat", list(operation.inputs), [output], axis=-1))
        elif operation.kind == "take":
            places = f"places_{k}"
            tables.append(onnx.numpy_helper.from_array(np.array(operation.places, dtype=np.int64), places))
            nodes.append(helper.make_node("Gather", [*operation.inputs, places], [output], axis=-1))
        elif operation.kind == "silu":
            nodes.append(helper.make_node("Sigmoid", list(operation.inputs), [f"{output} sigmoid"]))
            nodes.append(helper.make_node("Mul", [*operation.inputs, f"{output} sigmoid"], [output]))
        else:
            nodes.append(helper.make_node(_OPERATORS[operation.kind], list(operation.inputs), [output]))
    graph = helper.make_graph(
        nodes, "policy", [helper.make_tensor_value_info(network.input, kind, ["batch", network.size])],
        [helper.make_tensor_value_info(network.output, kind, ["batch", actions])], tables,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="kinetree")
    model.ir_version = min(model.ir_version, 9)  # which runtimes of some years ago read
    helper.set_model_props(model, network.info)
    onnx.checker.check_model(model)
    with beside(path) as place:
        place.write_bytes(model.SerializeToString())
