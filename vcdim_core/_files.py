"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def check_writable(path: Path) -> None:
    """Raise unless a file can be put at ``path``; for use before a long computation."""
    if path.is_dir():
        raise IsADirectoryError(f"expected the name of a file, got the folder {str(path)!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"expected a file in a folder that exists, got {str(path)!r}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(f"expected a file that may be written, got {str(path)!r}")


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8 so that at any moment ``path`` holds the old text or the new one, whole.

    Parameters
    ----------
    path : path
        Where. A symbolic link is followed; a device or a pipe is written to as it is.
    text : str
        What. Line ends stay as they are.

    Notes
    -----
    The text goes to a temporary file in the same folder, is flushed to the disk and takes the name of the old file in
    one step. If that fails, or is interrupted, the temporary file is removed and the old file is as it was.

    Examples
    --------
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "greeting.txt"
    >>> write_atomically(path, "hello")
    >>> path.read_text(), len(os.listdir(folder.name))
    ('hello', 1)
    >>> folder.cleanup()
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        with open(target, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        return
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode_of(target))
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _mode_of(path: Path) -> int:
    """The permissions that a file has, or that a new one gets."""
    with suppress(OSError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0)  # the only way to ask for it
    os.umask(mask)
    return 0o666 & ~mask
