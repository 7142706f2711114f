"""C made into a loaded library: by the system's compiler, else by the one that a wheel brings.

An object is kept in the user's cache under the hash of its source, its flags and its compiler, so
a spec is compiled once. `URTEIL_CC` names another compiler; `zig` is that of the wheel.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from checkers.explicit.engines import Declined

# -O1 takes 6/10 of the time that -O2 takes, and its code is as fast: memory is what costs
FLAGS = ("-std=gnu11", "-O1", "-shared", "-fPIC", "-pthread", "-w")
ZIG = ("-m", "ziglang", "cc")
ONLY_ZIG = ("-fno-sanitize=undefined",)  # which zig adds by itself


def command() -> tuple[str, ...]:
    """The compiler with the flags that it alone needs; raises Declined where there is none."""
    if os.name != "posix":
        raise Declined("generated C wants POSIX threads")
    named = os.environ.get("URTEIL_CC")
    found = None if named == "zig" else next(filter(None, map(shutil.which, _names(named))), None)
    if found:
        return (found,)
    if named not in (None, "zig"):
        raise Declined(f"no compiler {named}, which URTEIL_CC names")
    if importlib.util.find_spec("ziglang"):
        return (sys.executable, *ZIG, *ONLY_ZIG)
    raise Declined("no C compiler: install cc or clang, or the package ziglang")


def _names(named: str | None) -> tuple[str, ...]:
    return ("cc", "clang", "gcc") if named is None else (named,)


def cache() -> Path:
    """Where compiled objects are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "urteil" / "compiled"


def library(files: Mapping[str, str], main: str, flags: Sequence[str] = ()) -> ctypes.CDLL:
    """The library that the main file makes with the others beside it.

    Raises Declined where there is no compiler, or where it refuses the source.
    """
    call = [*command(), *FLAGS, *flags]
    text = "\0".join([sys.platform, *call, *(f"{k}\0{v}" for k, v in sorted(files.items()))])
    kept = cache() / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.so"
    try:
        if not kept.exists():
            _compile(call, files, main, kept)
        return ctypes.CDLL(str(kept))
    except OSError as fault:
        raise Declined(f"{kept.parent} keeps no compiled objects: {fault}") from fault


def _compile(call: Sequence[str], files: Mapping[str, str], main: str, kept: Path) -> None:
    """Writes the object in one move, so that nobody loads half of it."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text)
        made = Path(folder) / kept.name
        words = [*call, "-o", str(made), str(Path(folder) / main)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            why = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr)
            raise Declined(f"{Path(call[0]).name} refuses the generated C: {why.strip()}")
        made.replace(kept)
