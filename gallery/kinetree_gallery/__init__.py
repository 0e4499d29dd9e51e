"""The systems of the sources with their analyses, a package above kinetree; users reach it as :mod:`kinetree.gallery`.

``systems/<name>/`` contains one system: its model, the facts that its source states, its motion and its study.
``analyses`` are shared by several studies, and ``comparisons`` are studies of several robots.
"""
