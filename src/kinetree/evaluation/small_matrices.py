"""Linear algebra of small matrices without the threads of BLAS, for modules that may not import the engine."""

from ..engine.blas_threads import one_blas_thread

__all__ = ["one_blas_thread"]
