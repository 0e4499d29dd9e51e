"""Files of the sources' own programs: ReDySim's folders, SYMORO's ``.par``, spatial_v2's ``.mat``.

A package of its own beside kinetree, in the same wheel: it imports kinetree, which finds it by name
(:mod:`kinetree.io.other_programs`).  :mod:`.matlab` reads and runs the language in which ReDySim is written.
"""
