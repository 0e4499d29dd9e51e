"""Integrators: from rates to motion.

``methods`` has the formulas of fixed steps and the names of all integrators, ``variational`` the one that keeps energy
bounded; ``fixed`` makes whole steps of them in machine code or on arrays (with ``joints_by_kind`` and
``large_trees``).  ``stepper`` is what a run loop knows of any integrator, ``adaptive`` and ``adaptive_of_loops`` are
those that choose their own steps (with ``change_points`` and ``sundials``).
"""
