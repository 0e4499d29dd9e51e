"""Integrators: from rates to motion.

``fixed_step_methods`` has the formulas of fixed steps, ``variational`` the one that keeps energy bounded;
``steps_on_arrays`` makes whole steps from them in machine code or on arrays (with ``joints_by_kind`` and
``large_trees``).  ``stepper`` is the interface of all integrators for run loops, ``adaptive`` and
``adaptive_of_loops`` are those that choose their own steps (with ``change_points`` and ``sundials``).
"""
