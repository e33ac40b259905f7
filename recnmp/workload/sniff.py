"""What a file is by its first bytes, whatever its name says."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from ..errors import RecnmpError

# How the web pages begin that a download leaves instead of the file; S3 and the like answer in XML.
_PAGE = re.compile(
    rb"<(!--|!doctype|\?xml|(html|head|body|meta|title|script|style|link|base|div|p|h1|center|error)\b)", re.I
)
_MAGIC = (
    (b"PAR1", "parquet"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),  # without members
    (b"\x1f\x8b", "gzip"),
    (b"\x93NUMPY", "npy"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"ARROW1", "arrow"),
    (b"\x89HDF", "hdf5"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_HEAD = 512


def sniff(path: str | os.PathLike[str]) -> str:
    """What `kind_of` says of the file's first bytes.

    Raises RecnmpError as it does, if there is no such file, and on pipes and devices: files are read more
    than once.
    """
    file = Path(path)
    try:
        mode = file.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # before it is opened, which may wait for ever
            raise RecnmpError(
                f"{file}: is a pipe or a device, allowed are files: they are read more than once"
            )
        with file.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        raise RecnmpError(f"{file}: cannot be read: {error.strerror}") from error
    return kind_of(head, file)


def kind_of(head: bytes, file: Path) -> str:
    """ "parquet", "zip" (an .npz is one), "gzip", "npy", "empty" and so on, or "text" for anything else.

    head: the first bytes of `file`, or of what is packed in it. Raises RecnmpError on what is never a trace
    although it often bears the name of one: a Git LFS pointer, an HTML page saved by a browser.
    """
    if head.startswith(b"version https://git-lfs.github.com/spec"):
        raise RecnmpError(f"{file}: is a Git LFS pointer, not the data: fetch it with `git lfs pull`")
    if _PAGE.match(head.removeprefix(b"\xef\xbb\xbf").lstrip()):
        raise RecnmpError(f"{file}: is an HTML page, not the data: the download gave a web page instead")
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return "text" if head else "empty"
