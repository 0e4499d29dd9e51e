"""The viewer, a package above kinetree; users reach it as :mod:`kinetree.view`.

``view`` shows robots and their motions in the browser, and draws pictures and films.
"""
