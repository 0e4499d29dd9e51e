"""Small kernels, here and in processes of their own."""

import os
import subprocess
import sys

from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.trace import trace


def product(name="product", factor=2.0, key=None):
    """Return a kernel that multiplies its two inputs, and by a factor."""
    return Kernel(name, lambda: trace(lambda x: [x[0] * x[1] * factor], (2,), list), (2,), (1,), key)


def run_with_product(program, timeout=300):
    """Run a program in a process of its own, where ``kernel()`` is such a product; return what it prints."""
    head = (
        "import os, sys, numpy as np\n"
        "from kinetree.engine.llvm import host\n"
        "from kinetree.engine.kernels.kernel import Kernel\n"
        "from kinetree.engine.trace import trace\n"
        "def kernel(name='product', factor=2.0):\n"
        "    return Kernel(name, lambda: trace(lambda x: [x[0] * x[1] * factor], (2,), list), (2,), (1,))\n"
        "x = np.array([[2.0, 3.0]] * 20)\n"
    )
    called = [sys.executable, "-W", "ignore", "-c", head + program]
    found = subprocess.run(called, capture_output=True, text=True, timeout=timeout, env=os.environ, check=False)
    assert found.returncode == 0, (found.returncode, found.stderr)
    return found.stdout.strip()
