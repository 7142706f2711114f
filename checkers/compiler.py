"""Compiles C code and loads it. The compiler is the system's, or zig from the Python package
ziglang.

The compiled libraries are stored in a cache in the user's home directory. The environment variable
`URTEIL_CC` selects another compiler; its value `zig` selects the compiler of the package ziglang.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from checkers.cache import cache
from checkers.scratch import scratch

# -O1 compiles in 6/10 of the time of -O2; a caller whose code runs long adds -O3
FLAGS = ("-std=gnu11", "-O1", "-shared", "-fPIC", "-pthread", "-w")
ZIG = ("-m", "ziglang", "cc")
ONLY_ZIG = ("-fno-sanitize=undefined",)  # zig turns the sanitizer on by default


class CannotCompile(Exception):
    """Raised if there is no C compiler, if the compilation fails, or if the compiled library cannot
    be loaded. The message is the reason.
    """


def command() -> tuple[str, ...]:
    """Returns the command that starts the C compiler. Raises CannotCompile if there is no usable
    compiler.
    """
    if os.name != "posix":
        raise CannotCompile("C is compiled on POSIX systems only")
    named = os.environ.get("URTEIL_CC")
    found = None if named == "zig" else next(filter(None, map(shutil.which, _names(named))), None)
    if found:
        return (found,)
    if named not in (None, "zig"):
        raise CannotCompile(f"URTEIL_CC names {named}, which is not installed")
    if importlib.util.find_spec("ziglang"):
        return (sys.executable, *ZIG, *ONLY_ZIG)
    raise CannotCompile("no C compiler: install cc or clang, or the package ziglang")


def _names(named: str | None) -> tuple[str, ...]:
    return ("cc", "clang", "gcc") if named is None else (named,)


def library(files: Mapping[str, str], main: str, flags: Sequence[str] = ()) -> ctypes.CDLL:
    """Compiles and loads the C file `main`. `files` maps the names of all source files to their
    texts; `main` may include the other files. Raises CannotCompile if `main` cannot be compiled or
    loaded.
    """
    return loaded(library_file(files, main, flags))


def loaded(kept: Path) -> ctypes.CDLL:
    """Loads a compiled library. Raises CannotCompile if this machine cannot load the file."""
    try:
        return ctypes.CDLL(str(kept))
    except OSError as fault:
        raise CannotCompile(f"the cache {kept.parent} cannot be used: {fault}") from fault


def library_file(files: Mapping[str, str], main: str, flags: Sequence[str] = ()) -> Path:
    """Returns the path of the compiled library of `main`. Compiles `main` if the cache does not
    have the library. Raises CannotCompile if `main` cannot be compiled.
    """
    call = [*command(), *FLAGS, *flags]
    text = "\0".join([sys.platform, *call, *(f"{k}\0{v}" for k, v in sorted(files.items()))])
    kept = cache("compiled") / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.so"
    try:
        if not kept.exists():
            _compile(call, files, main, kept)
    except OSError as fault:
        raise CannotCompile(f"the cache {kept.parent} cannot be used: {fault}") from fault
    return kept


def _compile(call: Sequence[str], files: Mapping[str, str], main: str, kept: Path) -> None:
    # The file is renamed at the end, so no process loads an incomplete library.
    kept.parent.mkdir(parents=True, exist_ok=True)
    with scratch(kept.parent) as folder:
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        made = folder / kept.name
        words = [*call, "-o", str(made), str(folder / main)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            why = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr)
            raise CannotCompile(f"{Path(call[0]).name} cannot compile {main}: {why.strip()}")
        made.replace(kept)
