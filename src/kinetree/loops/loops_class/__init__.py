"""The parts of the class :class:`.Loops`, one subject per file, each building on those before it.

geometry (gaps, K, drift) < assembling (searching closed configurations) < independent_choice (independent coordinates,
what is closed) < closed_configurations (close, project, follow) < prepared_dynamics (fixed sequences of operations) <
inverse_dynamics, forward_dynamics < derivatives.
"""
