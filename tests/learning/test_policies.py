"""Policies: read, written and run as onnxruntime runs them, over any scalar, and as C."""

import shutil
import subprocess
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import kinetree as kt

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def actions_of_runtime(path, observations):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: observations.astype(np.float32)})[0]


def layers(sizes, seed=0):
    rng = np.random.default_rng(seed)
    weights = [rng.standard_normal((m, n)) / np.sqrt(n) for n, m in pairwise(sizes)]
    return weights, [rng.standard_normal(m) for m in sizes[1:]]


def written(path, nodes, tables, size, output="y", more=()):
    """Write a graph as other programs do."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    numbers = [
        onnx.numpy_helper.from_array(np.asarray(x, dtype=np.int64 if name.startswith("k") else np.float32), name)
        for name, x in tables.items()
    ]
    given = [helper.make_tensor_value_info(name, kind, ["batch", n]) for name, n in [("x", size), *more]]
    graph = helper.make_graph(nodes, "g", given, [helper.make_tensor_value_info(output, kind, None)], numbers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, str(path))
    return path


@pytest.mark.parametrize("activation", ["elu", "relu", "tanh", "selu", "silu", "sigmoid", "softplus", "leaky_relu"])
def test_same_actions_as_the_runtime(tmp_path, activation):
    rng = np.random.default_rng(1)
    weights, biases = layers([17, 32, 24, 5])
    policy = kt.Policy.of_layers(
        weights, biases, activation, mean=rng.standard_normal(17), deviation=rng.uniform(0.5, 2.0, 17), limit=1.2,
        info={"task": "walk"},
    )  # fmt: skip
    path = policy.save(tmp_path / "walk.onnx")
    seen = 2.0 * rng.standard_normal((50, 17))
    wanted = actions_of_runtime(path, seen)
    assert np.abs(policy(seen) - wanted).max() < 2e-6 * max(1.0, np.abs(wanted).max())
    assert (np.abs(wanted) > 1.19).any()
    assert (np.abs(wanted) < 1.1).any()
    again = kt.Policy.load(path)
    assert again.info == {"task": "walk"}
    assert (again.observation_size, again.action_size) == (17, 5)
    assert np.abs(again(seen) - wanted).max() < 2e-6
    assert again(seen[3]).shape == (5,)


def test_files_of_other_programs(tmp_path):
    """Gemm without transB, MatMul and Add, normalization by constants, Clip, Concat, Slice, Gather."""
    node, rng = onnx.helper.make_node, np.random.default_rng(2)
    w1, w2, w3 = rng.standard_normal((6, 8)), rng.standard_normal((8, 4)), rng.standard_normal((7, 3))
    nodes = [
        node("Flatten", ["x"], ["flat"]),
        node("Slice", ["flat", "k0", "k6", "k_last"], ["front"]),
        node("Gather", ["flat", "k_places"], ["rest"], axis=1),
        node("Sub", ["front", "mean"], ["centered"]),
        node("Div", ["centered", "spread"], ["normal"]),
        node("Gemm", ["normal", "w1", "b1"], ["h1"], alpha=0.5, beta=2.0),
        node("LeakyRelu", ["h1"], ["a1"], alpha=0.01),
        node("MatMul", ["a1", "w2"], ["m2"]),
        node("Add", ["b2", "m2"], ["h2"]),
        node("Softsign", ["h2"], ["a2"]),
        node("Concat", ["a2", "rest"], ["both"], axis=-1),
        node("MatMul", ["both", "w3"], ["h3"]),
        node("Clip", ["h3", "low", "high"], ["y"]),
    ]
    tables = {
        "k0": [0], "k6": [6], "k_last": [1], "k_places": [8, 6, 7], "mean": rng.standard_normal((1, 6)),
        "spread": rng.uniform(0.5, 2, (1, 6)), "w1": w1, "b1": rng.standard_normal(8), "w2": w2,
        "b2": rng.standard_normal(4), "w3": w3, "low": -1.0, "high": 0.7,
    }  # fmt: skip
    path = written(tmp_path / "p.onnx", nodes, tables, 9)
    policy, seen = kt.Policy.load(path), rng.standard_normal((30, 9))
    assert np.abs(policy(seen) - actions_of_runtime(path, seen)).max() < 2e-6
    policy.save(tmp_path / "again.onnx")
    assert np.abs(actions_of_runtime(tmp_path / "again.onnx", seen) - actions_of_runtime(path, seen)).max() < 2e-6


def test_any_scalar(tmp_path):
    weights, biases = layers([4, 6, 2])
    policy, x = kt.Policy.of_layers(weights, biases, "elu"), np.array([0.3, -1.2, 0.5, 2.0])
    law = kt.compile_function(policy, 4)
    assert np.abs(law(x) - policy(x)).max() < 1e-14
    assert np.isnan(policy(np.array([[0.0, 0, 0, 0], [np.nan, 0, 0, 0]]))).all(axis=1).tolist() == [False, True]


def test_torch_modules_by_their_layers():
    weights, biases = layers([3, 5, 2])

    def tensor(x):
        return SimpleNamespace(detach=lambda: SimpleNamespace(cpu=lambda: SimpleNamespace(numpy=lambda: x)))

    class Module:
        def children(self):
            return iter(getattr(self, "inner", ()))

    class Linear(Module):
        def __init__(self, w, b):
            self.weight, self.bias = tensor(w), tensor(b)

    class Tanh(Module):
        pass

    class LSTM(Module):
        pass

    class ELU(Module):
        alpha = 0.5

    class Sequential(Module):
        def __init__(self, *inner):
            self.inner = inner

    net = Sequential(Sequential(Linear(weights[0], biases[0]), Tanh()), Linear(weights[1], biases[1]))
    x = np.random.default_rng(0).standard_normal((4, 3))
    wanted = np.tanh((x - 1.0) @ weights[0].T + biases[0]) @ weights[1].T + biases[1]
    assert np.abs(kt.Policy.of_torch(net, mean=[1.0] * 3)(x) - wanted).max() < 1e-14
    with pytest.raises(kt.OptionError, match="LSTM is not part of a policy"):
        kt.Policy.of_torch(Linear(weights[0], biases[0]), LSTM())
    with pytest.raises(kt.OptionError, match=r"ELU with alpha = 0\.5"):
        kt.Policy.of_torch(Linear(weights[0], biases[0]), ELU())
    with pytest.raises(kt.OptionError, match="positive"):
        kt.Policy.of_torch(net, deviation=[1.0, 0.0, 1.0])


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("activation", ["elu", "tanh", "softplus"])
def test_c(tmp_path, precision, activation):
    weights, biases = layers([10, 16, 8, 3])
    policy = kt.Policy.of_layers(weights, biases, activation, mean=np.ones(10), limit=2.0)
    made = policy.codegen(tmp_path, "walk", precision)
    assert (made.multiplications, made.functions) == (10 * 16 + 16 * 8 + 8 * 3, 24)
    files = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "walk.c", "walk_test.c", "-o", "walk", "-lm"]
    subprocess.run(files, cwd=tmp_path, check=True)
    assert subprocess.run(["./walk"], cwd=tmp_path, check=False).returncode == 0
    other = kt.Policy.of_layers(weights, [b + 0.01 for b in biases], activation, mean=np.ones(10), limit=2.0)
    other.codegen(tmp_path / "other", "walk", precision)
    shutil.copy(tmp_path / "other" / "walk.c", tmp_path / "walk.c")
    subprocess.run(files, cwd=tmp_path, check=True)
    assert subprocess.run(["./walk"], cwd=tmp_path, check=False).returncode == 1


def test_what_is_refused(tmp_path):
    node = onnx.helper.make_node
    with pytest.raises(kt.MissingFileError, match="no policy"):
        kt.Policy.load(tmp_path / "none.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"not a network")
    with pytest.raises(kt.ModelError, match="not an ONNX file"):
        kt.Policy.load(tmp_path / "bad.onnx")
    path = written(tmp_path / "sin.onnx", [node("Sin", ["x"], ["y"], name="wave")], {}, 3)
    with pytest.raises(kt.ModelError, match=r"operator Sin \(wave\) is not read"):
        kt.Policy.load(path)
    nodes = [node("Selu", ["x"], ["h"], alpha=1.5), node("Tanh", ["h"], ["y"])]
    with pytest.raises(kt.ModelError, match=r"Selu with alpha = 1\.5"):
        kt.Policy.load(written(tmp_path / "sin.onnx", nodes, {}, 3))
    with pytest.raises(kt.ModelError, match="Max of 3 vectors"):
        kt.Policy.load(written(tmp_path / "sin.onnx", [node("Max", ["x", "x", "x"], ["y"])], {}, 3))
    path = written(tmp_path / "two.onnx", [node("Add", ["x", "h"], ["y"])], {}, 3, more=[("h", 3)])
    with pytest.raises(kt.ModelError, match="one input"):
        kt.Policy.load(path)
    weights, biases = layers([3, 4, 2])
    policy = kt.Policy.of_layers(weights, biases)
    with pytest.raises(kt.ShapeError, match="3 numbers"):
        policy(np.zeros((5, 4)))
    with pytest.raises(kt.OptionError, match=r"ends in \.onnx"):
        policy.save(tmp_path / "p.pt")
    with pytest.raises(kt.UnknownNameError, match="activation"):
        kt.Policy.of_layers(weights, biases, "gelu")
    with pytest.raises(kt.ShapeError, match="gets 4 numbers"):
        kt.Policy.of_layers([weights[0], np.zeros((2, 5))], biases)
    with pytest.raises(kt.ShapeError, match="its bias"):
        kt.Policy.of_layers(weights, [biases[0][:2], biases[1]])
    with pytest.raises(kt.OptionError, match="positive"):
        kt.Policy.of_layers(weights, biases, deviation=[1.0, 0.0, 1.0])
    with pytest.raises(kt.OptionError, match="valid name in C"):
        policy.codegen(tmp_path, "a-b")
    assert sorted(x.suffix for x in tmp_path.iterdir()) == [".onnx"] * 3
