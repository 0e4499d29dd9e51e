"""Write what kinetree would load on Windows, and what Linux computes with the same code made for Linux.

    python objects.py FOLDER TRIPLE RELOCATIONS CODE_MODEL

The folder gets object files, a list of the algorithms, states and results, for harness.c to read.
"""

import os
import sys
from pathlib import Path

import numpy as np

import kinetree as kt
from kinetree.engine.llvm import driver, host, pool, vectorcall

ALGORITHMS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_dynamics_derivatives")
STATES = 5003


def main(folder: Path, triple: str, relocations: str, code_model: str) -> None:
    """Write everything."""
    # what any processor of the last ten years runs, so that the harness knows the number of lanes
    os.environ["KINETREE_CPU"] = "x86-64-v3"
    common = host.host()
    llvm = host.binding()
    target = llvm.Target.from_triple(triple).create_target_machine(
        cpu=common.cpu, features=common.features, opt=2, reloc=relocations, codemodel=code_model
    )

    def write(name: str, text: str) -> None:
        module = llvm.parse_assembly(text)
        module.verify()
        for function in module.functions:
            if not function.is_declaration:
                function.add_function_attribute("nounwind")
        (folder / f"{name}.o").write_bytes(target.emit_object(module))

    write("driver", driver.driver_module(common.vectors()))
    write("threads", pool.pool_module())
    write("entry", vectorcall.entry_module())
    robot = kt.gallery.load("quadruped").with_backend("compiled")
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (3, STATES, robot.nv))
    states.tofile(folder / "states")
    lines = []
    for name in ALGORITHMS:
        inputs = states[:1] if name == "mass_matrix" else states
        result = getattr(robot, name)(*inputs)
        np.stack(result, axis=1).tofile(folder / name) if isinstance(result, tuple) else result.tofile(folder / name)
        kernel = robot.evaluator.compiler.kernel(name)
        assert kernel.lanes == common.lanes
        write(f"{name}-lanes", kernel._assembly("lanes"))
        write(f"{name}-one", kernel._assembly("single"))
        numbers = (kernel.size, kernel.scratch_bytes, kernel.tile_bytes, kernel.second_area, kernel.round)
        lines.append(f"{name} {len(inputs)} {' '.join(map(str, numbers))}\n")
    (folder / "list").write_text(f"{STATES} {robot.nv}\n" + "".join(lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
