"""What a file is by its first bytes, whatever its name says."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import RecnmpError


def sniff(path: str | os.PathLike[str]) -> str:
    """ "parquet", "zip" (an .npz is one), "gzip", "npy", "empty", or "text" for anything else.

    Raises RecnmpError if there is no such file, and on what is never a trace although it often bears the name
    of one: a Git LFS pointer, an HTML page saved by a browser.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            head = stream.read(512)
    except OSError as error:
        raise RecnmpError(f"{file}: cannot be read: {error.strerror}") from error
    if head.startswith(b"version https://git-lfs.github.com/spec"):
        raise RecnmpError(f"{file}: is a Git LFS pointer, not the data: fetch it with `git lfs pull`")
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if text.startswith((b"<!doctype html", b"<html", b"<?xml")):
        raise RecnmpError(f"{file}: is an HTML page, not the data: the download gave a web page instead")
    for magic, kind in (
        (b"PAR1", "parquet"),
        (b"PK\x03\x04", "zip"),
        (b"\x1f\x8b", "gzip"),
        (b"\x93NUMPY", "npy"),
    ):
        if head.startswith(magic):
            return kind
    return "text" if head else "empty"
