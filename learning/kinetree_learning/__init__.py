"""Learning to move robots, a package above kinetree; users reach its environments as :mod:`kinetree.gym`.

``environments`` makes environments of Gymnasium from worlds, one or thousands at a time; ``tasks`` are tasks to learn.
"""
