"""Files of SYMORO for tests: of every kind, written for them."""

from __future__ import annotations

from pathlib import Path


def listed(letters: str, numbers: range) -> str:
    return "{" + ",".join(f"{letters}{k}" for k in numbers) + "}"


def par(
    name: str, geometry: str, *, links: int, joints: int | None = None, dynamics: str = "", more: str = "",
    type_: int = 0, gravity: str = "0,0,G3",
) -> str:  # fmt: skip
    joints = links if joints is None else joints
    return f"""(* Robotname = '{name}' *)
NL = {links}
NJ = {joints}
NF = {2 * joints - links}
Type = {type_}
{more}
(* Geometric parameters *)
{geometry}
(* Dynamic parameters and external forces *)
{dynamics}
G = {{{gravity}}}
(* End of definition *)
"""


RX90 = par(
    "RX90",
    """ant = {0,1,2,3,4,5}
sigma = {0,0,0,0,0,0}
b = {0,0,0,0,0,0}
d = {0,0,D3,0,0,0}
r = {0,0,0,RL4,0,0}
gamma = {0,0,0,0,0,0}
alpha = {0,pi/2,0,-pi/2,pi/2,-pi/2}
mu = {1,1,1,1,1,1}
theta = {th1,th2,th3,th4,th5,th6}""",
    links=6,
)
"""The Staubli RX-90 of Khalil and Dombre, in symbols: no list of dynamic parameters means symbols, as in SYMORO."""

ARM = par(
    "two links",
    """ant = {0, 1}
d = {0, L1}
theta = {q1, q2}""",
    links=2,
    dynamics="""XX = {0,0}
XY = {0,0}
XZ = {0,0}
YY = {0,0}
YZ = {0,0}
ZZ = {ZZ1, ZZ2}
MX = {MX1, MX2}
MY = {0,0}
MZ = {0,0}
M = {M1, M2}
IA = {0, 0}
FV = {FV1, FV2}
FS = {0, 0}""",
    gravity="0, -G, 0",
)
"""The planar arm of two links."""

NUMBERS = """XX = {%s}
XY = {%s}
XZ = {%s}
YY = {%s}
YZ = {%s}
ZZ = {%s}
MX = {%s}
MY = {%s}
MZ = {%s}
M = {%s}
IA = {%s}
FV = {%s}
FS = {%s}"""


def bodies(count: int, first: int = 1) -> str:
    """Return dynamic parameters of bodies that can be, all different."""
    tens = []
    for j in range(first, first + count):
        m, x, y, z = 2.0 + 0.3 * j, 0.05 * j, 0.02 - 0.01 * j, 0.1 + 0.01 * j
        xx, yy, zz = 0.1 + 0.01 * j, 0.12, 0.11
        tens.append([
            xx + m * (y * y + z * z), 0.01 - m * x * y, 0.005 - m * x * z, yy + m * (x * x + z * z), -m * y * z,
            zz + m * (x * x + y * y), m * x, m * y, m * z, m, 0.02 * j, 0.3, 0.1 * j,
        ])  # fmt: skip
    columns = [",".join(repr(ten[k]) for ten in tens) for k in range(13)]
    return NUMBERS % tuple(columns)


TREE = par(
    "tree",
    """ant = {0,1,2,1,4,4}
sigma = {0,1,0,0,2,0}
b = {0,0,0.1,0.2,0,0.3}
d = {0,0.1,0.2,0.3,0.1,0.25}
r = {0.3,r2,0.1,0,0.2,0.05}
gamma = {0,0,0,0.7,0.2,-0.4}
alpha = {0.3,pi/2,-0.5,1.1,0.4,pi}
mu = {1,1,0,1,0,1}
theta = {th1,0.4,th3 + 0.2,th4,0.6,th6}""",
    links=6,
    type_=1,
    dynamics=bodies(6),
    gravity="0.1,-0.2,-9.81",
)
"""A tree of numbers with every parameter, a slide and a weld."""

# Two parallelograms, one on the other: joints 7 and 8 are cut.
TWO_LOOPS = par(
    "two loops",
    """ant = {0,0,1,3,3,5,2,4,3,6}
sigma = {0,0,0,0,0,0,0,0,2,2}
b = {0,0,0,0,0,0,0,0,0,0}
d = {0,B1,L1,B2,0,L2,L1,L2,B1,B2}
r = {0,0,0,0,0,0,0,0,0,0}
gamma = {0,0,0,0,0,0,0,0,0,0}
alpha = {-pi/2,-pi/2,0,0,0,0,0,0,0,0}
mu = {1,0,0,1,0,0,0,0,0,0}
theta = {th1,th2,th3,th4,th5,th6,th7,th8,0,0}""",
    links=6,
    joints=8,
    type_=2,
)

SR400 = par(
    "SR400",
    """ant = {0,1,2,3,4,5,1,7,8,3}
sigma = {0,0,0,0,0,0,0,0,0,2}
d = {0,D2,D3,D4,0,0,D2,D8,D3,-D8}
r = {0,0,0,RL4,0,0,0,0,0,0}
gamma = {0,0,0,0,0,0,0,0,0,pi/2}
alpha = {0,-pi/2,0,-pi/2,pi/2,-pi/2,-pi/2,0,0,0}
mu = {1,1,0,1,1,1,1,0,0,0}
theta = {th1,th2,th3,th4,th5,th6,th7,th8,th9,0}""",
    links=8,
    joints=9,
    type_=2,
    dynamics="""IA = {IA1,IA2,0,IA4,IA5,IA6,IA7,0}""",
)
"""The Acma SR400 of Khalil in symbols: six axes, the third driven through a parallelogram."""

FLOATING = par(
    "floater",
    """ant = {0,1}
d = {0.2,0.4}
r = {0.1,0}
alpha = {0.3,pi/2}
theta = {th1,th2}""",
    links=2,
    more="is_floating = True",
    dynamics=bodies(3, 0),
    gravity="0,0,-9.81",
)


def write(folder: Path, text: str, name: str = "robot.par") -> Path:
    """Write a file."""
    path = folder / name
    path.write_text(text)
    return path
