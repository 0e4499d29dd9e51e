from .builder import Builder as Builder
from .make import make as make
from .mechanism import Mechanism as Mechanism
from .robot import Robot as Robot
