"""How far shapes are apart: signed distances, nearest points and normals, over any scalar.

Which kinds meet is known when code is made, so that a pair is a fixed sequence of operations; where a text would
branch, all branches are computed and one is chosen.
"""
