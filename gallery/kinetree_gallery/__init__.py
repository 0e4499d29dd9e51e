"""The systems of the sources with their analyses, a package above kinetree; users reach it as :mod:`kinetree.gallery`.

``systems/<name>/`` holds one system: its model, the facts that its source states, how it moves, its study. ``analyses``
are shared by several studies, ``comparisons`` are studies of several robots.
"""
