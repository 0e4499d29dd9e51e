"""Files of ReDySim of our own: a double pendulum, the book's four-bar, an arm on a floating base, two geared arms."""

from __future__ import annotations

from pathlib import Path


def inputs(n: int, **numbers: str) -> str:
    """Return an inputs.m; what is not given is zero, bars are thin."""
    outputs = "n dof type alp a b th bt r dx dy dz m g Icxx Icyy Iczz Icxy Icyz Iczx aj al alt Tp steps"
    if "nq" in numbers:
        outputs += " nq"
    if "g_prop" in numbers:
        outputs += " g_prop"
    usual = {
        "type": "0", "dof": "n", **dict.fromkeys(("alp", "a", "b", "th", "dy", "dz", "Icxx", "Icxy", "Icyz", "Iczx"),
                                               "zeros(n,1)"),
        "r": "ones(n,1)", "aj": "ones(n,1)", "al": "zeros(n,1)", "dx": "al/2", "g": "[0; -9.81; 0]", "alt": "al",
        "Icyy": "m.*al.^2/12", "Iczz": "Icyy", "Tp": "1", "steps": "0.1",
    }  # fmt: skip
    order = [*(k for k in numbers if k in ("m", "al")), *(k for k in numbers if k not in ("m", "al"))]
    lines = [f"n={n};", *(f"{k}={numbers[k]};" for k in order)]
    lines += [f"{k}={x};" for k, x in usual.items() if k not in numbers]
    return f"function [{outputs}] = inputs()\n" + "\n".join(lines) + "\nend\n"


def written(place: Path, **files: str) -> Path:
    """Write files of a folder."""
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / f"{name}.m").write_text(text)
    return place


PENDULUM = inputs(2, m="[1; 0.5]", al="[1; 0.8]", a="[0; 1]", bt="[0; 1]", Tp="2", steps="0.05")

CYCLOID = """function [qi, dqi, ddqi] = trajectory(tim, dof, Tp)
% a cycloid, one joint after the other
from = [0.2 -0.3]; to = [pi/3 pi/2];
for i = 1:dof
    way = to(i) - from(i);
    qi(i,1) = from(i) + way/Tp*(tim - Tp/(2*pi)*sin(2*pi/Tp*tim));
    dqi(i,1) = way/Tp*(1 - cos(2*pi/Tp*tim));
    ddqi(i,1) = 2*pi*way/Tp^2*sin(2*pi/Tp*tim);
end
"""

INITIALS = """function [n, y0, ti, tf, incr, rtol, atol, int_type] = initials()
[n] = inputs();
y0 = [0.4; 0.1; 0; 0; 0];
ti = 0; tf = 1; incr = 0.1; rtol = 1e-8; atol = 1e-10; int_type = 0;
end
"""

PD = """function tau_d = torque(t, tf, n, dof, q, dq)
[qd, dqd] = trajectory(t, dof, tf);
tau_d = zeros(n, 1);
for i = 1:n
    tau_d(i) = 49*(qd(i) - q(i)) + 14*(dqd(i) - dq(i));
end
if t > 0.5
    tau_d(2) = 0;
end
end
"""

# Table 10.3 of the book, with the pivot of the rocker at the origin, as it is printed
FOUR_BAR = inputs(
    3, m="[1.5; 3; 5]", al="[0.038; 0.1152; 0.1152]", a="[0; 0; 0.1152]", bt="[0; 0; 2]", type="1", dof="1",
    aj="[1; 0; 0]", Tp="4/3", steps="1/3",
)  # fmt: skip

TURNING = """function [qi, dqi, ddqi] = trajectory(tim, dof, Tp)
qi = 2*pi/Tp*tim; dqi = 2*pi/Tp; ddqi = 0;
"""

JACOBIAN = """function [J, dJ] = jacobian(q, dq)
[n dof type alp a b th bt r dx dy dz m g Icxx Icyy Iczz Icxy Icyz Iczx aj al] = inputs();
t = [q(1); q(2); q(2) + q(3)]; w = [dq(1); dq(2); dq(2) + dq(3)];
c = al.*cos(t); s = al.*sin(t);
J = [s(1), -s(2) - s(3), -s(3); -c(1), c(2) + c(3), c(3)];
c = c.*w; s = s.*w;
dJ = [c(1), -c(2) - c(3), -c(3); s(1), -s(2) - s(3), -s(3)];
end
"""

INV_KINE = """function [q, dq, ddq, J] = inv_kine(qi, dqi, ddqi)
[n dof type alp a b th bt r dx dy dz m g Icxx Icyy Iczz Icxy Icyz Iczx aj al] = inputs();
x = al(1)*cos(qi) + 0.0895; y = al(1)*sin(qi);     % the pin, seen from the pivot of the rocker
bend = acos(sqrt(x^2 + y^2)/(2*al(2)));
up = atan2(y, x) + bend;
q = [qi; up; 2*pi - 2*bend];
J = jacobian(q, zeros(3, 1));
dq = [dqi; -J(:, 2:3)\\(J(:, 1)*dqi)];
[J, dJ] = jacobian(q, dq);
ddq = [ddqi; -J(:, 2:3)\\(J(:, 1)*ddqi + dJ*dq)];
q = q'; dq = dq'; ddq = ddq';
end
"""

# the initial state of Table 10.8, at rest
FOUR_BAR_INITIALS = """function [n, y0, ti, tf, incr, rtol, atol, int_type] = initials()
[n] = inputs();
bend = acos((0.038 + 0.0895)/(2*0.1152));
y0 = [0; bend; 2*pi - 2*bend; 0; 0; 0; 0];
ti = 0; tf = 0.5; incr = 0.1; rtol = 1e-8; atol = 1e-10; int_type = 0;
end
"""

NOTHING = "function tau_d = torque(t, tf, n, dof, q, dq)\ntau_d = zeros(n, 1);\nend\n"

SPACE = inputs(
    3, nq="0", m="[20; 2; 1]", al="[1; 1; 0.7]", a="[0; 0.5; 1]", bt="[0 1 2]", dx="[0; 0.5; 0.35]", aj="[1 1]",
    g="[0; 0; 0]", Icxx="[3; 0.01; 0.01]", Icyy="[4; 0.2; 0.05]", Iczz="[5; 0.2; 0.05]", dof="5",
)  # fmt: skip

SPACE_TRAJECTORY = """function [th_d, dth_d, ddth_d] = trajectory(t, n, tf)
th_d = [0; 0.3 + sin(t); -0.6 + 0.5*t^2];
dth_d = [0; cos(t); t];
ddth_d = [-sin(t); 1];
"""

SPACE_INITIALS = """function [y0, ti, tf, incr, rtol, atol] = initials()
q = zeros(6, 1); dq = zeros(6, 1);
y0 = [q; {th}dq; {dth}0];
ti = 0; tf = 2; incr = 0.2; rtol = 1e-8; atol = 1e-10;
"""

SPACE_TORQUE = """function [tu_q, tu_th] = torque(t, n, tf, q, th, dq, dth)
[th_d, dth_d] = trajectory(t, n, tf);
tu_q = zeros(6, 1);
tu_th = 49*(th_d(2:n) - th(2:n)) + 14*(dth_d(2:n) - dth(2:n));
"""

# two bars side by side, whose rows no joint between them can give: q2 = -2 q1
GEARED = inputs(2, m="[1; 0.5]", al="[1; 0.8]", a="[0; 3]", bt="[0; 0]", type="1", dof="1", aj="[1; 0]")

GEARED_JACOBIAN = "function [J, dJ] = jacobian(q, dq)\nJ = [2 1]; dJ = [0 0];\nend\n"

GEARED_INV_KINE = """function [q, dq, ddq, J] = inv_kine(qi, dqi, ddqi)
q = [qi, -2*qi]; dq = [dqi, -2*dqi]; ddq = [ddqi, -2*ddqi]; J = [2 1];
end
"""

SWINGING = """function [qi, dqi, ddqi] = trajectory(tim, dof, Tp)
qi = sin(tim); dqi = cos(tim); ddqi = -sin(tim);
"""
