"""Files of the sources' own programs: ReDySim's folders, SYMORO's ``.par``, spatial_v2's ``.mat``.

This is a separate package in the same wheel as kinetree: it imports kinetree, which finds it by name
(:mod:`kinetree.io.other_programs`).  :mod:`.matlab` reads and runs the language in which ReDySim is written.
"""
