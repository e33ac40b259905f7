"""C text -> shared object, kept by content: the same circuit is compiled once, whoever asks for it."""

from __future__ import annotations

import atexit
import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...errors import RecnmpError

# -O1: -O2 gains some 5 % and takes twice as long to compile (16 lanes, GCC 12)
FLAGS = ("-O1", "-std=gnu11", "-shared", "-fPIC", "-w")
# For several copies only: one copy is faster without, since GCC then keeps no words in vector and mask registers.
# Whole numbers, so the same bits on every machine.
NATIVE = "-march=native"


def compiler_words() -> list[str]:
    """The compiler and its first arguments. Raises RecnmpError where CC is no command line."""
    given = os.environ.get("CC", "")
    try:
        return shlex.split(given) or ["cc"]
    except ValueError as error:
        raise RecnmpError(f"CC: {given!r} is no command: {error}") from None


def _told(command: Sequence[str]) -> str:
    """What a command prints; raises RecnmpError if it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError:
        raise RecnmpError(
            f"no C compiler {command[0]!r}: install one (Debian: gcc), or name it in CC"
        ) from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        said = [line for line in lines if "error" in line] or lines or ["it gives no reason"]
        raise RecnmpError(f"the C compiler {command[0]!r} fails: {said[0].strip()}")
    return done.stdout


@functools.cache
def compiler_identity(words: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """What the compiler is, with what it takes this processor for, and the flags for this processor alone."""
    version = _told([*words, "--version"])
    try:
        native = _told([*words, NATIVE, "-dM", "-E", "-x", "c", os.devnull])
    except RecnmpError:
        return f"{version}\n{platform.machine()}", ()
    return f"{version}\n{native}", (NATIVE,)


def vector_lanes(copies: int) -> int:
    """Copies done at a time: 8 where the processor has vectors of 512 bits, else 4, or as many as there are."""
    if copies == 1:
        return 1
    identity, _ = compiler_identity(tuple(compiler_words()))
    widest = 8 if "__AVX512F__" in identity and "__AVX512DQ__" in identity else 4
    return min(widest, 1 << (copies - 1).bit_length())


def cache_folder() -> Path:
    """$RECNMP_CACHE, else recnmp below $XDG_CACHE_HOME, else ~/.cache/recnmp. It need not exist yet."""
    if named := os.environ.get("RECNMP_CACHE"):
        return Path(named)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "recnmp"
    return Path(os.path.expanduser("~")) / ".cache" / "recnmp"


def _writable_folder() -> Path:
    """The cache, or, where there is no home to write to, a folder of this user for temporary files.

    Raises RecnmpError if RECNMP_CACHE names a folder that cannot be written, or nothing can.
    """
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
        reason = "it cannot be written"
    except OSError as error:
        reason = error.strerror or str(error)
    if os.environ.get("RECNMP_CACHE"):
        raise RecnmpError(f"RECNMP_CACHE: {folder}: {reason}; name a folder that can be written")
    try:
        return _private_temporary()
    except OSError:
        raise RecnmpError(
            f"{folder}: {reason}; name a folder for compiled circuits in RECNMP_CACHE"
        ) from None


@functools.cache
def _private_temporary() -> Path:
    # made anew for every process, with a name that nobody can prepare: what is loaded from there is ours
    made = tempfile.mkdtemp(prefix="recnmp-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def _load(path: Path, digest: str) -> ctypes.CDLL | None:
    """The library, or none if it is not there or is not whole: its last bytes are the digest of the rest."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if len(content) < 64 or hashlib.sha256(content[:-32] + digest.encode()).digest() != content[-32:]:
        return None
    try:
        return ctypes.CDLL(str(path))
    except OSError:
        return None


def library(text: str, native: bool) -> ctypes.CDLL:
    """The compiled text, from the cache or made now. Two processes may ask for the same at once.

    native: compile for this processor alone, as far as the compiler can.

    Raises RecnmpError without a C compiler, or without a place to put the result.
    """
    words = compiler_words()
    identity, own = compiler_identity(tuple(words))
    flags = (*FLAGS, *own) if native else FLAGS
    digest = hashlib.sha256("\0".join([text, identity, *words, *flags]).encode()).hexdigest()
    found = _load(cache_folder() / f"{digest}.so", digest)
    if found is not None:
        return found
    folder = _writable_folder()
    target = folder / f"{digest}.so"
    try:
        with tempfile.TemporaryDirectory(prefix=".build-", dir=folder) as place:
            source, made = Path(place) / "circuit.c", Path(place) / "circuit.so"
            source.write_text(text)
            _told([*words, *flags, "-o", str(made), str(source)])
            if not made.exists():
                raise RecnmpError(f"the C compiler {words[0]!r} made no library: name one that does in CC")
            content = made.read_bytes()
            made.write_bytes(content + hashlib.sha256(content + digest.encode()).digest())
            os.replace(made, target)
    except OSError as error:
        raise RecnmpError(f"{target}: cannot be written: {error.strerror or error}") from None
    found = _load(target, digest)
    if found is None:
        raise RecnmpError(f"{target}: the circuit that was compiled just now cannot be loaded")
    return found
