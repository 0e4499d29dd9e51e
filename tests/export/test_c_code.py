"""A robot's algorithms as C: compiled strictly, run, and compared with the reference."""

import os
import re
import shutil
import subprocess

import numpy as np
import pinocchio as pin
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.gcc import Library, compile_c
from helpers.robots import arm, floating_pair, random_state, random_tree
from judges.real_robots import FIXED, FLOATING, load_quietly, robot_file
from kinetree.algorithms.table import ALGORITHMS
from kinetree.evaluation.algorithm_options import needed_options
from kinetree.export.c_code import codegen


def panda_like() -> kt.Robot:
    """Seven hinges with the geometry of a Franka arm, every link with all ten inertial parameters."""
    rng = np.random.default_rng(7)
    rows = []
    for alpha, a, d in (
        (0, 0, 0.333), (-90, 0, 0), (90, 0, 0.316), (90, 0.0825, 0), (-90, -0.0825, 0.384), (90, 0, 0),
        (90, 0.088, 0.107),
    ):  # fmt: skip
        spread = rng.uniform(-0.004, 0.004, (3, 3))
        inertia = np.diag(rng.uniform(0.05, 0.06, 3)) + spread + spread.T
        rows.append({"alpha": alpha, "a": a, "d": d, "mass": 3.0, "com": rng.uniform(-0.1, 0.1, 3), "inertia": inertia})
    return kt.from_dh(rows, degrees=True, name="Panda-like")


def mixed() -> kt.Robot:
    """A ball joint with a quaternion, a screw, a universal joint, a slide and a follower."""
    box = kt.MassProperties.box(1.2, (0.1, 0.2, 0.3), (0.05, 0.02, 0.1))
    b = kt.Builder("mixed", gravity=(1.0, 2.0, -9.0))
    b.body("shoulder", "base", kt.Spherical(), joint_name="ball", mass_properties=box)
    b.body(
        "nut", "shoulder", kt.Helical((1, 2, 3), 0.1), joint_name="screw", position=(0.1, 0, 0.2), mass_properties=box
    )
    b.body("wrist", "nut", kt.Universal("ZX"), joint_name="cardan", rpy=(0.1, 0.2, 0.3), mass_properties=box)
    b.body("slider", "wrist", kt.Prismatic("y"), joint_name="slide", position=(0, 0.3, 0), mass_properties=box)
    b.body(
        "finger", "wrist", kt.Revolute("x"), joint_name="finger joint", mass_properties=box,
        mimic=kt.Mimic("slide", 2.0, 0.1),
    )  # fmt: skip
    return b.frame("tip", "slider", (0, 0, 0.1)).build()


ROBOTS = {"panda": panda_like, "floating": floating_pair, "mixed": mixed}
FRAMES = {"panda": "link7", "floating": "nose", "mixed": "tip"}


def run_test_program(exported, *flags, libraries=("-lm",), optimize="-O2"):
    """Compile source and test program strictly and run them."""
    program = exported.test.with_suffix("")
    compile_c(exported.source, exported.test, "-o", program, *flags, *libraries, optimize=optimize)
    return subprocess.run([str(program)], capture_output=True, text=True, check=False)


def library(exported, precision="double", **options):
    real = np.float32 if precision == "single" else np.float64
    return Library(exported.source, real, optimize="-O0", **options)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("own_math", [False, True])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_compiles_strictly_runs_and_agrees(tmp_path, name, precision, own_math):
    robot, frame = ROBOTS[name](), FRAMES[name]
    wanted = ["inverse_dynamics", "forward_dynamics", "mass_matrix", ("jacobian", {"frame": frame})]
    exported = codegen(robot, tmp_path, wanted, prefix="bot", precision=precision, own_math=own_math)
    run = run_test_program(exported, libraries=() if own_math else ("-lm",))
    assert run.returncode == 0, run.stdout
    assert run.stdout.count("ok") == 4

    compiled = library(exported, precision, with_libm=not own_math)
    tolerance = 1e-12 if precision == "double" else 1e-4
    rng = np.random.default_rng(11)
    for _ in range(10):
        q, v, a = (x.astype(compiled.real).astype(float) for x in random_state(robot, rng))
        tau = 10.0 * a
        nv = robot.nv
        assert_close(compiled("bot_inverse_dynamics", nv, q, v, a), robot.inverse_dynamics(q, v, a), tolerance)
        forward = compiled("bot_forward_dynamics", nv, q, v, tau)
        assert_close(forward, robot.forward_dynamics(q, v, tau), 10 * tolerance if precision == "single" else tolerance)
        assert_close(compiled("bot_mass_matrix", nv * nv, q).reshape(nv, nv), robot.mass_matrix(q), tolerance)
        jacobian = compiled(f"bot_jacobian_{frame}", 6 * nv, q).reshape(6, nv)
        assert_close(jacobian, robot.jacobian(q, frame), tolerance)


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_with_every_joint(tmp_path, seed):
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 4, floating=seed % 2 == 1, followers=seed > 1)
    exported = codegen(robot, tmp_path, own_math=seed in (0, 3), wrenches=True, prefix="tree")
    compiled = library(exported)
    for _ in range(5):
        q, v, a = random_state(robot, rng)
        six = rng.uniform(-3, 3, (len(robot.body_names), 6))
        assert_close(
            compiled("tree_inverse_dynamics", robot.nv, q, v, a, six), robot.inverse_dynamics(q, v, a, six), 1e-12
        )
        tau = robot.inverse_dynamics(q, v, a, six)
        assert_close(compiled("tree_forward_dynamics", robot.nv, q, v, tau, six), a, 1e-9)


def test_springs(tmp_path):
    rng = np.random.default_rng(7)
    robot = random_tree(rng, 3, ["revolute", "spherical", "prismatic"], in_turn=True, springs=True)
    exported = codegen(robot, tmp_path, ["inverse_dynamics", "forward_dynamics", "potential_energy"], prefix="bot")
    compiled = library(exported)
    q, v, a = random_state(robot, rng)
    tau = robot.inverse_dynamics(q, v, a)
    assert_close(compiled("bot_inverse_dynamics", robot.nv, q, v, a), tau, 1e-12)
    assert_close(compiled("bot_forward_dynamics", robot.nv, q, v, tau), a, 1e-9)
    assert_close(compiled("bot_potential_energy", 1, q)[0], robot.potential_energy(q), 1e-12)


def test_real_arm_against_pinocchio(tmp_path):
    path = robot_file(FIXED["ur5"])
    exported = codegen(
        load_quietly(path), tmp_path, ["inverse_dynamics", "forward_dynamics"], prefix="ur5", own_math=True
    )
    compiled = library(exported, with_libm=False)
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    rng = np.random.default_rng(3)
    for _ in range(20):
        q, v, a = rng.uniform(-3, 3, (3, 6))
        tau = pin.rnea(model, data, q, v, a)
        assert_close(compiled("ur5_inverse_dynamics", 6, q, v, a), tau, 1e-12)
        assert_close(compiled("ur5_forward_dynamics", 6, q, v, tau), pin.aba(model, data, q, v, tau), 1e-11)


def test_real_floating_robot(tmp_path):
    robot = load_quietly(robot_file(FLOATING["solo12"]), floating_base=True)
    run = run_test_program(codegen(robot, tmp_path), optimize="-O1")
    assert run.returncode == 0, run.stdout


def options_for(robot, name):
    """Some value for every option that has no default."""
    values = {
        "frame": robot.body_names[-1],
        "frames": robot.body_names[-1:],
        "known": [k % 2 == 0 for k in range(len(robot.joint_names))],
    }
    return {option: values[option] for option in needed_options(name)}


def test_every_algorithm_can_be_exported(tmp_path):
    robot = floating_pair()
    wanted = [(name, options_for(robot, name)) for name in ALGORITHMS]
    exported = codegen(robot, tmp_path, wanted, prefix="p", states=2)
    assert len(exported.functions) == len(ALGORITHMS)
    run = run_test_program(exported, optimize="-O0")
    assert run.returncode == 0, run.stdout
    assert run.stdout.count("ok") == len(ALGORITHMS)


def test_fused_multiply_add(tmp_path):
    robot = arm()
    exported = codegen(robot, tmp_path, fma=True)
    assert "fma(" in exported.source.read_text()
    assert "fma(" not in codegen(robot, tmp_path / "plain").source.read_text()
    assert run_test_program(exported).returncode == 0


# ---------------------------------------------------------------- the test program judges


def test_test_program_finds_a_wrong_result(tmp_path):
    exported = codegen(arm(), tmp_path, "gravity_force")
    text = exported.source.read_text()
    assert text.count("9.81") >= 1
    exported.source.write_text(text.replace("9.81", "9.80999999"))
    run = run_test_program(exported)
    assert run.returncode == 1
    assert "WRONG" in run.stdout


def test_test_program_finds_nan(tmp_path):
    exported = codegen(arm(), tmp_path, "gravity_force")
    text = exported.source.read_text()
    exported.source.write_text(re.sub(r"tau\[1\] = .*;", "tau[1] = (q[0] - q[0]) / (q[0] - q[0]);", text))
    assert run_test_program(exported).returncode == 1


def test_test_program_expects_the_reference(tmp_path):
    """The numbers in it are the robot's own, not the graph's."""
    robot = arm()
    exported = codegen(robot, tmp_path, "mass_matrix", states=3)
    text = exported.test.read_text()

    def table(name):
        body = re.search(name + r"\[3\]\[\w+\] = \{(.*?)\};", text, re.DOTALL).group(1)
        return np.array([[float(x.strip(" ()")) for x in row.split(",")] for row in re.findall(r"\{(.*?)\}", body)])

    assert_close(table("expected").reshape(3, 3, 3), robot.mass_matrix(table("q")), 1e-15)


def whip(n, heavy=1e4):
    """Light links that carry a heavy one: forward dynamics loses many digits."""
    builder = kt.Builder("whip")
    for k in range(n):
        mass, moment = (heavy, 0.1 * heavy) if k == n - 1 else (1e-3, 1e-5)
        builder.body(
            f"l{k}", "base" if k == 0 else f"l{k - 1}", kt.Revolute("y"), position=(0, 0, 1),
            mass=mass, com=(0, 0, 0.5), inertia=(moment,) * 3,
        )  # fmt: skip
    return builder.build()


def test_ill_conditioned_robots_get_a_test_they_can_pass(tmp_path):
    """Where rounding alone is worse than 1e-12, the allowance and the header say so."""
    exported = codegen(whip(3), tmp_path, "forward_dynamics", own_math=True, states=6)
    run = run_test_program(exported)
    assert run.returncode == 0, run.stdout
    assert float(run.stdout.split("allowed")[1]) > 1e-11
    assert "Rounding errors reach" in exported.header.read_text()
    assert "Rounding errors reach" not in codegen(arm(), tmp_path, "forward_dynamics").header.read_text()


def test_results_that_are_all_rounding_are_warned_of(tmp_path):
    with pytest.warns(kt.KinetreeWarning, match="ill-conditioned.*use double precision"):
        codegen(whip(5, heavy=1e3), tmp_path, "forward_dynamics", precision="single")


# ---------------------------------------------------------------- the files


def test_header_says_what_goes_where(tmp_path):
    robot = mixed()
    exported = codegen(robot, tmp_path, ["inverse_dynamics", ("jacobian", {"frame": "tip", "axes": "world"})])
    header = exported.header.read_text()
    assert exported.header.name == "mixed.h"
    for line in ("#define MIXED_NQ 8 ", "#define MIXED_NV 7 ", "#define MIXED_BODIES 5 ", "#define MIXED_Q_CARDAN 5\n"):
        assert line in header
    assert "q[0..3] (1, 1, 1, 1), v[0..2]: ball, spherical, carries shoulder" in header
    assert "q[4] (rad), v[3]: screw, helical" in header
    assert "finger joint: 2.0 times slide plus 0.1" in header
    assert "void mixed_inverse_dynamics(const double *q, const double *v, const double *a, double *tau);" in header
    assert "#define MIXED_JACOBIAN_TIP_WORLD_SIZE 42" in header
    assert "frame = tip, axes = world" in header
    order = [header.index(word) for word in ("ball,", "screw,", "cardan,", "slide,")]
    assert order == sorted(order)


def test_header_compiles_by_itself_and_as_cpp(tmp_path):
    exported = codegen(mixed(), tmp_path)
    lone = tmp_path / "lone.c"
    lone.write_text('#include "mixed.h"\n#include "mixed.h"\nint size(void);\nint size(void) { return MIXED_NV; }\n')
    compile_c("-c", lone, "-o", tmp_path / "lone.o")
    assert 'extern "C"' in exported.header.read_text()
    compiler = shutil.which("g++")
    if compiler:
        cpp = tmp_path / "lone.cpp"
        call = "static double q[MIXED_NQ], v[MIXED_NV], tau[MIXED_INVERSE_DYNAMICS_SIZE];"
        cpp.write_text(
            f'#include "mixed.h"\n{call}\nint main() {{ mixed_inverse_dynamics(q, v, v, tau); return 0; }}\n'
        )
        flags = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
        compile_c("-c", exported.source, "-o", tmp_path / "mixed.o", optimize="-O0")
        command = [compiler, *flags, cpp, tmp_path / "mixed.o", "-lm", "-o", tmp_path / "lone"]
        subprocess.run(command, check=True, capture_output=True)
        assert subprocess.run([tmp_path / "lone"], check=False).returncode == 0


def test_nothing_but_math_is_included(tmp_path):
    def includes(**options):
        return re.findall(r"#include (.*)", codegen(arm(), tmp_path, **options).source.read_text())

    assert includes() == ['"arm.h"', "<math.h>"]
    assert includes(own_math=True) == ['"arm.h"']
    assert includes(algorithms="kinetic_energy") == ['"arm.h"', "<math.h>"]
    text = codegen(arm(), tmp_path, own_math=True).source.read_text()
    for word in ("malloc", "calloc", "free(", "printf", "math.h"):
        assert word not in text


def test_temporaries_are_static_or_on_the_stack(tmp_path):
    static = codegen(arm(), tmp_path / "static")
    stack = codegen(arm(), tmp_path / "stack", reentrant=True)
    assert "#define ARM_TEMPORARY static\n" in static.source.read_text()
    assert "#define ARM_TEMPORARY\n" in stack.source.read_text()
    for exported, flags in ((static, ["-DARM_TEMPORARY="]), (stack, []), (stack, ["-DARM_TEMPORARY=static"])):
        assert run_test_program(exported, *flags).returncode == 0


def test_arguments_that_do_not_matter(tmp_path):
    """The mass of a lone slide does not depend on where it is."""
    robot = kt.Builder("slide").body("block", "base", kt.Prismatic("x"), mass=2.0).build()
    exported = codegen(robot, tmp_path, ["mass_matrix", "inverse_dynamics", "kinetic_energy"])
    assert run_test_program(exported).returncode == 0
    assert "math.h" not in exported.source.read_text()


def test_names_that_are_no_names_in_c(tmp_path):
    builder = kt.Builder("3 µ-robot */ int x;")
    for k, name in enumerate(("j-1", "j_1", "*/ break;", "größe\n??/", "double")):
        parent = "base" if k == 0 else f"b {k - 1}"
        builder.body(f"b {k}", parent, kt.Revolute("xyz"[k % 3]), joint_name=name, mass=1.0, com=(0.1, 0.2, 0.3))
    builder.frame("tool-1", "b 4", (0.1, 0, 0)).frame("tool_1", "b 4", (0.2, 0, 0)).frame("-", "b 4")
    robot = builder.build()
    frames = [("jacobian", {"frame": frame}) for frame in ("tool-1", "tool_1", "-")]
    exported = codegen(robot, tmp_path, ["inverse_dynamics", *frames])
    assert exported.source.name == "robot_3_robot_int_x.c"
    assert [name.removeprefix("robot_3_robot_int_x_") for name in exported.functions] == [
        "inverse_dynamics", "jacobian_tool_1", "jacobian_tool_1_2", "jacobian_frame",
    ]  # fmt: skip
    header = exported.header.read_text()
    assert "_Q_J_1 0\n" in header
    assert "_Q_J_1_2 1\n" in header
    run = run_test_program(exported)
    assert run.returncode == 0, run.stdout


def test_same_input_same_files(tmp_path):
    first, second = (codegen(mixed(), tmp_path / k) for k in "ab")
    for a, b in zip(first.files, second.files, strict=True):
        assert a.read_bytes() == b.read_bytes()


def test_cost_is_reported(tmp_path):
    exported = codegen(arm(), tmp_path, "inverse_dynamics")
    (cost,) = exported.functions.values()
    assert cost.multiplications > 10
    assert str(cost) in exported.header.read_text()


# ---------------------------------------------------------------- writing, wholly or not at all


def test_folder_is_made_and_nothing_else_is_left(tmp_path):
    exported = codegen(arm(), tmp_path / "deep" / "down")
    assert sorted(os.listdir(tmp_path / "deep" / "down")) == sorted(p.name for p in exported.files)


def test_failure_leaves_old_files_alone(tmp_path, monkeypatch):
    exported = codegen(arm(), tmp_path)
    before = [p.read_bytes() for p in exported.files]

    def full(self, text, **options):
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(kt.OutputError, match="No space left"):
        codegen(arm(), tmp_path, "mass_matrix")
    assert [p.read_bytes() for p in exported.files] == before
    assert len(os.listdir(tmp_path)) == 3


def test_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(kt.OutputError, match=r"cannot write C into .*file"):
        codegen(arm(), tmp_path / "file" / "inside")
    with pytest.raises(OSError, match="cannot write"):
        codegen(arm(), tmp_path / "file")


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("prefix", ["", "3d", "a-b", "a b", "../x", "é", "int", "a;", 5])
def test_bad_prefix(tmp_path, prefix):
    with pytest.raises(kt.OptionError, match="not a valid name in C"):
        codegen(arm(), tmp_path, prefix=prefix)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"algorithms": "invers_dynamics"}, kt.UnknownNameError, "did you mean 'inverse_dynamics'"),
        ({"algorithms": ["mass_matrix", 5]}, kt.OptionError, "not 5"),
        ({"algorithms": []}, kt.OptionError, "no algorithm chosen"),
        ({"algorithms": "jacobian"}, kt.OptionError, "jacobian needs the frame: give frame=..., such as 'tool'"),
        ({"algorithms": ("jacobian", {"frame": "tol"})}, kt.UnknownNameError, "did you mean 'tool'"),
        ({"algorithms": ("jacobian", {"frame": "tool", "axis": "x"})}, kt.UnknownNameError, "did you mean 'axes'"),
        ({"algorithms": ("jacobian", {"frame": "tool", "axes": "wrld"})}, kt.UnknownNameError, "did you mean 'world'"),
        ({"algorithms": ("forward_dynamics", {"method": "magic"})}, kt.UnknownNameError, "articulated_body"),
        ({"algorithms": ("hybrid_dynamics", {"known": [True]})}, kt.OptionError, "one boolean per joint, 3 in all"),
        ({"algorithms": "floating_base_inverse_dynamics"}, kt.ModelError, "no floating base"),
        ({"precision": "quad"}, kt.UnknownNameError, "no precision named 'quad'"),
        ({"fma": True, "own_math": True}, kt.OptionError, "choose one"),
        ({"states": 0}, kt.OptionError, "at least one state"),
    ],
)
def test_requests_that_cannot_be(tmp_path, arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        codegen(arm(), tmp_path, **arguments)
    assert not os.listdir(tmp_path)


def test_robot_without_inertia(tmp_path):
    builder = kt.Builder("ghost", strict=False)
    builder.body("a", "base", kt.Revolute("z"), mass=0.0)
    robot = builder.build()
    with pytest.raises(kt.SingularError, match="a_joint"):
        codegen(robot, tmp_path, "forward_dynamics")
    with pytest.raises(kt.SingularError, match="center_of_mass of robot 'ghost' divides by zero: do all"):
        codegen(robot, tmp_path, "center_of_mass")
    pendulum = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    with pytest.raises(kt.SingularError, match="use inverse=True"):
        codegen(pendulum, tmp_path, ("operational_space_inertia", {"frames": "bob"}))
    codegen(pendulum, tmp_path, ("operational_space_inertia", {"frames": "bob", "inverse": True}))


def test_number_too_large_for_float(tmp_path):
    robot = kt.Builder("star").body("sun", "base", kt.Prismatic("x"), mass=1e40).build()
    with pytest.raises(kt.UnsupportedError, match="use double precision"):
        codegen(robot, tmp_path, "inverse_dynamics", precision="single")
    codegen(robot, tmp_path, "inverse_dynamics")


# ------------------------------------------------------------------ mechanisms with loops


def told_entries(header: str, function: str) -> dict[int, str]:
    """What the header says about each number of a function's result."""
    said = header[: header.index(f"void {function}(")].rpartition("/*")[2]
    found = {}
    for first, last, meaning in re.findall(r"result\[(\d+)(?:\.\.(\d+))?\]: (.*?)(?: \*/)?\n", said):
        for k in range(int(first), int(last or first) + 1):
            assert k not in found
            found[k] = meaning
    return found


@pytest.mark.parametrize("name", ["four-bar", "slider-crank", "3-rrr", pytest.param("delta", marks=pytest.mark.slow)])
def test_the_header_says_what_each_number_of_a_mechanism_is(tmp_path, name):
    """Each entry by its words, against the equations of motion written with the tree's methods."""
    robot = kt.gallery.load(name)
    wanted = ["inverse_dynamics", "forward_dynamics", "loop_gaps", "loop_drift", "loop_jacobian"]
    exported = robot.codegen(tmp_path, [*wanted, "loop_jacobian_entries"], prefix="m")
    header, compiled = exported.header.read_text(), library(exported)
    rng = np.random.default_rng(5)
    q = kt.gallery.start(name)
    q, v = robot.project(q, rng.standard_normal(robot.nv))
    off_q = robot.integrate(q, 0.01 * rng.standard_normal(robot.nv))
    off_v, off_a = rng.standard_normal((2, robot.nv))
    tau = np.zeros(robot.nv)
    for joint in robot.model.joints:
        if joint.actuated:
            tau[joint.v_slice] = rng.standard_normal(joint.nv)
    a = robot.forward_dynamics(q, v, tau)
    inertial = robot.tree.inverse_dynamics(q, v, a)
    names = list(robot.constraint_names)

    for kind, given in (("inverse", a), ("forward", tau)):
        function = f"m_closed_{kind}_dynamics"
        said = told_entries(header, function)
        assert list(said) == list(range(len(said)))
        result = compiled(function, len(said), q, v, given)
        rest = inertial - tau
        for k, meaning in said.items():
            word = re.split(r"[ ,]", meaning)[0]
            if word in ("tau", "a"):
                j = robot.v_names.index(meaning.split(": ")[0].partition(", ")[2])
                assert result[k] == pytest.approx((tau if word == "tau" else a)[j], abs=1e-8), meaning
                assert ("always 0" in meaning) == (word == "tau" and not tau[j])
                slides = next(x for x in robot.model.joints if x.v_slice.stop > j).kind.name == "prismatic"
                unit = {"tau": ("N m", "N"), "a": ("rad/s^2", "m/s^2")}[word][slides]
                assert "always 0" in meaning or meaning.endswith(f"({unit})")
            elif word == "lambda":
                row = names.index(re.search(r"'(.*)'", meaning)[1])
                rest = rest - robot.loop_jacobian(q)[row] * result[k]
            elif word == "quality":
                assert 1e-8 < result[k] <= 1.0
        assert np.abs(rest).max() < 1e-8  # M a + h = tau + K^T lambda, with the constraints that were named

        off = compiled(function, len(said), off_q, off_v, off_a)
        squares = (
            (robot.loop_gaps(off_q) ** 2).sum(),
            ((robot.loop_jacobian(off_q) @ off_v) ** 2).sum(),
            ((robot.loop_jacobian(off_q) @ off_a + robot.loop_drift(off_q, off_v)) ** 2).sum(),
        )
        words = ("squares of the gaps", "squares of the rates", "squares of their second rates")
        for words_, square in zip(words, squares, strict=True):
            place = [k for k, meaning in said.items() if words_ in meaning]
            assert len(place) == (0 if kind == "forward" and words_ == words[2] else 1)
            assert off[place] == pytest.approx(square, rel=1e-6)
        assert [result[k] for k, meaning in said.items() if meaning == "always 0"] == [0.0] * (kind == "forward")
        for part, first in (
            ("LAMBDA", "lambda"),
            ("QUALITY", "quality"),
            ("RESIDUALS", "sum of the squares of the gaps"),
        ):
            place = int(re.search(rf"#define {function.upper()}_{part} (\d+)", header)[1])
            assert said[place].startswith(first)

    for function, vector in (("loop_gaps", robot.loop_gaps(off_q)), ("loop_drift", robot.loop_drift(off_q, off_v))):
        said = told_entries(header, f"m_{function}")
        given = (off_q,) if function == "loop_gaps" else (off_q, off_v)
        result = compiled(f"m_{function}", len(said), *given)
        for k, meaning in said.items():
            assert result[k] == pytest.approx(vector[names.index(re.search(r"'(.*)'", meaning)[1])], abs=1e-12)
    jacobian = robot.loop_jacobian(off_q)
    said = told_entries(header, "m_loop_jacobian")
    result = compiled("m_loop_jacobian", len(said), off_q)
    for k, meaning in said.items():
        assert result[k] == pytest.approx(
            jacobian[names.index(re.search(r"'(.*)'", meaning)[1]), k % robot.nv], abs=1e-12
        )
    said = told_entries(header, "m_loop_jacobian_entries")
    result = compiled("m_loop_jacobian_entries", len(said), off_q)
    for k, meaning in said.items():
        row, column = re.search(r"'(.*)', column v\[(\d+)\]", meaning).groups()
        assert result[k] == pytest.approx(jacobian[names.index(row), int(column)], abs=1e-12)


def test_forces_of_loops_as_c(tmp_path):
    robot = kt.gallery.load("four-bar")
    moved = ("hybrid_dynamics", {"known": ["crank_joint"]})
    exported = robot.codegen(tmp_path, ["multipliers", "joint_wrenches", "reduced_mass_matrix", moved], prefix="m")
    compiled = library(exported)
    q = kt.gallery.start("four-bar")
    v, tau = robot.velocities(q, [2.0]), np.array([0.3, 0.0, 0.0])
    a = robot.forward_dynamics(q, v, tau)
    assert_close(compiled("m_multipliers", 5, q, v, tau), robot.multipliers(q, v, tau), 1e-12)
    assert_close(compiled("m_closed_joint_wrenches", 18, q, v, a).reshape(3, 6), robot.joint_wrenches(q, v, a), 1e-10)
    assert_close(compiled("m_reduced_mass_matrix", 1, q), robot.reduced_mass_matrix(q)[0], 1e-12)
    both = robot.hybrid_dynamics(q, v, a={"crank_joint": 1.5})
    assert_close(compiled("m_independent_hybrid_dynamics", 6, q, v, [1.5, 0, 0]), np.concatenate(both), 1e-10)
    said = told_entries(exported.header.read_text(), "m_multipliers")
    assert [re.search("'(.*)'", meaning)[1] for meaning in said.values()] == list(robot.constraint_names)


def test_a_file_in_the_place_of_the_folder_is_said(tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(kt.OutputError, match=r"'.*taken': that is a file; name a folder"):
        kt.Builder("one").body("a", "base", kt.Prismatic("x"), mass=1.0).build().codegen(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"
