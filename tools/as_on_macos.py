r"""A plugin for pytest: object files as on a Mac, loaded and run on Linux.

    PYTHONPATH=src:gallery:programs:studio:learning:optimize:design:sweeps:tools \
        python -m pytest -p as_on_macos tests/evaluation/test_on_any*
    tools/on_arm64 -p as_on_macos

LLVM makes Mach-O files by Apple's conventions for the processor at hand, and the linker that is used on Macs, too,
loads them.  Calls follow the same rules on both systems, so the code can be run; only names have another form.
"""

import ctypes
import os
import platform

from kinetree.engine.llvm import host as machine

os.environ["KINETREE_CACHE"] = "off"  # which may hold the same code for Linux
llvm, host = machine.binding(), machine.host()
arm = platform.machine() in ("aarch64", "arm64")
on_mac = llvm.Target.from_triple("arm64-apple-macosx12.0" if arm else "x86_64-apple-macosx12.0").create_target_machine(
    cpu="apple-m1" if arm else host.cpu, features="" if arm else host.features, opt=2, reloc="pic", codemodel="small"
)
on_linux, create = machine._generator(host), llvm.create_lljit_compiler
formats = set()


class Mac:
    """Makes object files."""

    def emit_object(self, module):
        """Make one, and remember how it begins."""
        code = on_mac.emit_object(module)
        formats.add(code[:4].hex())
        return code


class Library:
    """Knows symbols by the names that they have on Linux."""

    def __init__(self, library):
        self._library = library
        self.close = library.close

    def __getitem__(self, symbol):
        return self._library[f"_{symbol}"]


class Builder(llvm.JITLibraryBuilder):
    """Gives names the underscore that they have on Macs."""

    def __init__(self):
        super().__init__()
        for name in ("memcpy", "memset", "bzero"):  # what LLVM finds by itself on a Mac
            self.import_symbol(name, ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value)

    def import_symbol(self, name, address):
        """Say where something is that the code calls."""
        return super().import_symbol(f"_{name}", address)

    def export_symbol(self, name):
        """Ask for the address of something."""
        return super().export_symbol(f"_{name}")

    def link(self, linker, name):
        """Load what was added."""
        return Library(super().link(linker, name))


machine._generator = lambda target: Mac()
llvm.create_lljit_compiler = lambda target, **options: create(on_linux, **options)
llvm.JITLibraryBuilder = Builder


def pytest_unconfigure(config):
    """Say what was made."""
    print("object files began with", *formats or ["nothing"], "(Mach-O: cffaedfe)")
