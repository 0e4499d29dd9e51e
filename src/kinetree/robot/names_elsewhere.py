"""What people who come from another library or a textbook look for, and what it is called here."""

from __future__ import annotations

METHODS = {
    "rne": "inverse_dynamics(q, v, a)",
    "invdynalgo": "inverse_dynamics(q, v, a)",
    "invdyn": "inverse_dynamics(q, v, a)",
    "fordyn": "forward_dynamics(q, v, tau)",
    "rnea": "inverse_dynamics(q, v, a)",
    "newtoneuler": "inverse_dynamics(q, v, a)",
    "idyn": "inverse_dynamics(q, v, a)",
    "inversedynamics": "inverse_dynamics(q, v, a)",
    "nle": "bias_force(q, v)",
    "linmod": "linearize(q, v, tau)",
    "biasterm": "bias_force(q, v) - gravity_force(q)",
    "nonlineareffects": "bias_force(q, v)",
    "aba": "forward_dynamics(q, v, tau)",
    "articulatedbody": "forward_dynamics(q, v, tau)",
    "forwarddynamics": "forward_dynamics(q, v, tau)",
    "accel": "forward_dynamics(q, v, tau)",
    "qacc": "forward_dynamics(q, v, tau)",
    "crba": "mass_matrix(q)",
    "compositerigidbody": "mass_matrix(q)",
    "inertia": "mass_matrix(q)",
    "inertiamatrix": "mass_matrix(q)",
    "massmatrix": "mass_matrix(q)",
    "coriolis": "coriolis_matrix(q, v)",
    "gravload": "gravity_force(q)",
    "gravitytorque": "gravity_force(q)",
    "generalizedgravity": "gravity_force(q)",
    "gravitygeneralizedforces": "gravity_force(q), the force that holds, with the other sign",
    "fk": "pose(q, frame)",
    "fkine": "pose(q, frame)",
    "forwardkinematics": "pose(q, frame)",
    "gettransform": "pose(q, frame)",
    "jacob0": "jacobian(q, frame, axes='aligned')",
    "jacobe": "jacobian(q, frame, axes='body')",
    "geometricjacobian": "jacobian(q, frame)",
    "framejacobian": "jacobian(q, frame)",
    "jacobianspatialvelocity": "jacobian(q, frame, axes='aligned')",
    "bodyposeinworld": "pose(q, frame)",
    "ik": "kinetree.inverse_kinematics(robot, ...)",
    "ikine": "kinetree.inverse_kinematics(robot, ...)",
    "inversekinematics": "kinetree.inverse_kinematics(robot, ...)",
    "ikinelm": "kinetree.inverse_kinematics(robot, ...)",
    "fdyn": "kinetree.simulate(robot, q, v, time=...)",
    "runinv": "inverse_dynamics(q, v, a), or kinetree.simulate_prescribed on a floating base",
    "animate": "kinetree.view(robot, motion)",
    "links": "body_names",
    "numpositions": "nq",
    "numvelocities": "nv",
    "dof": "nv",
    "ndof": "nv",
    "n": "nv",
    "qz": "neutral()",
    "q0": "neutral()",
    "home": "neutral()",
    "homeconfiguration": "neutral()",
    "randomconfiguration": "random_configuration(rng)",
    "grubler": "mobility(q).gruebler, of robots with closed loops",
    "gruebler": "mobility(q).gruebler, of robots with closed loops",
    "reactions": "constraint_forces(q, v, a), of robots with closed loops; joint_wrenches(q, v, a) of others",
    "reactionforces": "constraint_forces(q, v, a), of robots with closed loops; joint_wrenches(q, v, a) of others",
    "jointreactions": "constraint_forces(q, v, a), of robots with closed loops; joint_wrenches(q, v, a) of others",
    "couplercurve": "pose(q, frame)[..., :3, 3] along q = follow({joint: angles})",
    "trace": "pose(q, frame)[..., :3, 3] along a motion",
    "assemble": "assembled(), or close(q_guess) near a guess",
    "solve": "close(q_guess), of robots with closed loops",
    "equilibrium": "kinetree.equilibrium(robot, q)",
    "statics": "kinetree.equilibrium(robot, q)",
    "staticequilibrium": "kinetree.equilibrium(robot, q)",
    "operatingpoint": "kinetree.equilibrium(robot, q)",
    "naturalfrequencies": "kinetree.equilibrium(robot, q).frequencies",
    "modalanalysis": "kinetree.equilibrium(robot, q).modes",
    "eigenfrequencies": "kinetree.equilibrium(robot, q).frequencies",
    "write": "save(path)",
    "save": "save(path)",
    "export": "save(path), or codegen(folder) for C",
    "com": "center_of_mass(q)",
    "centerofmass": "center_of_mass(q)",
    "ccrba": "centroidal_momentum_matrix(q)",
    "ode45": "kinetree.simulate(robot, q, v, time=...)",
    "simulate": "kinetree.simulate(robot, q, v, time=...)",
    "step": "kinetree.simulate(robot, q, v, time=...)",
    "plot": "kinetree.view(robot)",
    "show": "kinetree.view(robot)",
    "teach": "kinetree.view(robot)",
}
"""Methods of a robot, by the names of others in small letters without lines between the words."""

FUNCTIONS = {
    "multibodyplant": "kinetree.load(path)",
    "linearquadraticregulator": "kinetree.control.lqr(robot, q)",
    "lqr": "kinetree.control.lqr(robot, q)",
    "dlqr": "kinetree.control.lqr(robot, q, period=...)",
    "jtraj": "kinetree.trajectories.Quintic(q0, q1, duration)",
    "mtraj": "kinetree.trajectories.Trapezoidal(q0, q1, duration, ramp)",
    "lspb": "kinetree.trajectories.Trapezoidal(q0, q1, duration, ramp)",
    "cycloid": "kinetree.trajectories.Cycloid(q0, q1, duration)",
    "quintic": "kinetree.trajectories.Quintic(q0, q1, duration)",
    "cubic": "kinetree.trajectories.Cubic(q0, q1, duration)",
    "revolutemdh": "kinetree.from_dh(rows, 'modified')",
    "prismaticdh": "kinetree.from_dh(rows, 'standard')",
    "prismaticmdh": "kinetree.from_dh(rows, 'modified')",
    "animate": "kinetree.view(robot, motion)",
    "dhrobot": "kinetree.from_dh(rows)",
    "seriallink": "kinetree.from_dh(rows)",
    "dhlink": "kinetree.DHRow(...)",
    "revolutedh": "kinetree.DHRow(...)",
    "rigidbodytree": "kinetree.Builder(name)",
    "importrobot": "kinetree.load(path)",
    "buildmodelfromurdf": "kinetree.load(path)",
    "buildmodelfrommjcf": "kinetree.load(path)",
    "loadurdf": "kinetree.load(path)",
    "loadrobot": "kinetree.load(path)",
    "fromurdf": "kinetree.load(path)",
    "fromxmlpath": "kinetree.load(path)",
    "urdf": "kinetree.load(path)",
    "ode45": "kinetree.simulate(robot, q, v, time=...), with integrator='rk45' or better 'dop853'",
    "odeint": "kinetree.simulate(robot, q, v, time=...)",
    "solveivp": "kinetree.simulate(robot, q, v, time=...)",
    "visualize": "kinetree.view(robot)",
    "plot": "kinetree.view(robot), or record.plot()",
}
"""Functions of the package likewise; methods are found, too."""

INTEGRATORS = {
    "ode45": "rk45",
    "ode78": "dop853",
    "ode89": "dop853",
    "ode113": "dop853",
    "ode15s": "bdf",
    "ode23s": "radau",
    "ode23t": "radau",
    "lsoda": "sundials",
    "cvode": "sundials",
    "rungekutta": "rk4",
    "implicitfast": "implicit_euler",
    "implicit": "implicit_euler",
    "symplecticeuler": "semi_implicit_euler",
}
"""Integrators likewise."""


def _plain(name: str) -> str:
    plain = name.lower().replace("_", "")
    for verb in ("compute", "calc", "eval", "get"):
        plain = plain.removeprefix(verb)
    return plain


def method_called(name: str) -> str | None:
    """Return the method or property of a robot that others call so, or None."""
    return METHODS.get(_plain(name)) or METHODS.get(name.lower().replace("_", ""))


def function_called(name: str) -> str | None:
    """Return what of the package others call so, or None."""
    plain = name.lower().replace("_", "")
    method = method_called(name)
    return FUNCTIONS.get(plain) or (
        method if method is None or method.startswith("kinetree.") else f"robot.{method} of a robot, see kinetree.load"
    )


def integrator_called(name: object) -> str | None:
    """Return the integrator that others call so, or None."""
    return INTEGRATORS.get(str(name).lower().replace("_", "").replace("-", ""))
