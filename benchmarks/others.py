"""For the record: other ways to inverse and forward dynamics of the Panda, one thread, ns per state."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from kinetree.algorithms.table import find

from .robots import FILES, Contest, folder
from .timing import Table, alternate

COUNT, SOME = 4096, 256


def others(rounds: int) -> Iterator[Table]:
    """CasADi's generated C, MuJoCo and the Robotics Toolbox beside kinetree; those not installed are left out."""
    c = Contest.make("Panda", COUNT)
    table = Table("Panda: other libraries, for the record", ("", "ns per state", "against kinetree"))
    for what in ("inverse_dynamics", "forward_dynamics"):
        out = np.empty((COUNT, c.robot.nv))
        getattr(c.robot, what)(c.q, c.v, c.a)
        call = getattr(c.robot, what)
        contenders: dict[str, tuple[Callable[[], object], int]] = {
            "kinetree": (lambda call=call, out=out: call(c.q, c.v, c.a, out=out), COUNT)
        }
        for name, make in (
            ("CasADi C, gcc -O3", _casadi),
            ("MuJoCo, Python loop", _mujoco),
            ("Robotics Toolbox", _toolbox),
        ):
            try:
                found = make(c, what)
            except ImportError as missing:
                table.add(f"{what}: {name}", f"not installed ({missing.name})", "")
                continue
            if found is not None:
                contenders[name] = found
        best = alternate({name: call for name, (call, _) in contenders.items()}, rounds)
        ours = best["kinetree"] / COUNT
        for name, (_, states) in contenders.items():
            table.add(f"{what}: {name}", best[name] / states * 1e9, f"{best[name] / states / ours:.1f}x")
    yield table


def _casadi(c: Contest, what: str) -> tuple[Callable[[], object], int]:
    """The same algorithm text on CasADi symbols, written as C by CasADi, compiled, mapped over the batch."""
    import casadi

    algorithm, tree = find(what), c.robot.model
    vectors = [casadi.SX.sym(name, n) for name, n in zip(algorithm.inputs, algorithm.lengths(tree), strict=True)]
    result = algorithm.function(tree, *([v[k] for k in range(v.numel())] for v in vectors))
    function = casadi.Function("f", vectors, [casadi.vertcat(*result)])
    home = Path(tempfile.mkdtemp(prefix="kinetree-bench-"))
    source = casadi.CodeGenerator("f.c")
    source.add(function)
    source.generate(f"{home}/")
    command = ["gcc", "-O3", "-march=native", "-shared", "-fPIC", "f.c", "-o", "f.so", "-lm"]
    subprocess.run(command, cwd=home, check=True)
    mapped = casadi.external("f", str(home / "f.so")).map(COUNT)
    columns = [casadi.DM(x.T) for x in (c.q, c.v, c.a)]
    return lambda: mapped(*columns), COUNT


def _mujoco(c: Contest, what: str) -> tuple[Callable[[], object], int]:
    """mj_inverse or mj_forward without constraints, from the same URDF without its meshes."""
    import mujoco

    text = (folder() / FILES["Panda"][0]).read_text()
    text = re.sub(r"<(visual|collision)\b.*?</\1>", "", text, flags=re.DOTALL)
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(model)

    def loop() -> None:
        for k in range(SOME):
            data.qpos[:], data.qvel[:] = c.q[k], c.v[k]
            if what == "inverse_dynamics":
                data.qacc[:] = c.a[k]
                mujoco.mj_inverse(model, data)
            else:
                data.qfrc_applied[:] = c.a[k]
                mujoco.mj_forward(model, data)

    return loop, SOME


def _toolbox(c: Contest, what: str) -> tuple[Callable[[], object], int] | None:
    """The toolbox's own Denavit-Hartenberg Panda (7 joints): rne in C, accel in Python."""
    import roboticstoolbox

    panda = roboticstoolbox.models.DH.Panda()
    some = SOME if what == "inverse_dynamics" else 8
    q, v, a = (x[:some, :7] for x in (c.q, c.v, c.a))
    if what == "inverse_dynamics":
        return lambda: panda.rne(q, v, a), some
    return lambda: [panda.accel(q[k], v[k], a[k]) for k in range(some)], some
