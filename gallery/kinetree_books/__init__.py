"""What the books write out, for reading and teaching: a package above kinetree, whose methods find it by name.

``denoc`` holds the DeNOC matrices of robots (:meth:`kinetree.Robot.denoc`), ``parallel_denoc`` those of platforms,
``module_steps`` the recursions over modules step by step, ``published_counts`` the operation counts that the books
state (``kinetree.published``), and ``cost_formulas`` formulas for our own (``kinetree.costs``).
"""
