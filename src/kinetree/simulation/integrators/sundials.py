"""SUNDIALS' CVODE (variable-order BDF for stiff problems) with the interface of SciPy's integrators."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import DenseOutput, OdeSolver
from sksundae.cvode import CVODE


class CvodeSolver(OdeSolver):  # type: ignore[misc]
    """One internal step of CVODE at a time."""

    t: float
    y: np.ndarray

    def __init__(self, fun: Any, t0: float, y0: np.ndarray, t_bound: float, rtol: float, atol: float, max_step: float):
        super().__init__(fun, t0, y0, t_bound, vectorized=False)
        longest = 0.0 if np.isinf(max_step) else max_step
        self.inner = CVODE(self._right_side, rtol=rtol, atol=atol, max_step=longest, method="BDF")
        self._problem: BaseException | None = None
        self.inner.init_step(t0, y0)

    def _right_side(self, t: float, y: np.ndarray, rates: np.ndarray) -> None:
        rates[:] = np.nan
        if self._problem is not None:
            return
        try:
            rates[:] = self.fun(t, np.array(y))
        except BaseException as problem:  # raised again outside of the C code
            self._problem = problem

    def _step_impl(self) -> tuple[bool, str | None]:
        if self.t == self.t_bound:
            return True, None
        result = self.inner.step(self.t_bound, method="onestep", tstop=self.t_bound)
        if self._problem is not None:
            raise self._problem
        if not result.success:
            return False, str(result.message)
        self.t, self.y = float(np.ravel(result.t)[-1]), np.array(np.atleast_2d(result.y)[-1])
        return True, None

    def _dense_output_impl(self) -> DenseOutput:
        return _Within(self)


class _Within(DenseOutput):  # type: ignore[misc]
    """CVODE's interpolation within the last step, as accurate as the step itself."""

    def __init__(self, solver: CvodeSolver) -> None:
        super().__init__(solver.t_old, solver.t)
        self.solver = solver

    def _call_impl(self, t: Any) -> np.ndarray:
        if t == self.t:
            return self.solver.y
        result = self.solver.inner.step(float(t), method="normal")
        return np.array(np.atleast_2d(result.y)[-1])
