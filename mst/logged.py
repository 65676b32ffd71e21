"""Logs of the workflow's scripts."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from mst.errors import MSTError


@contextlib.contextmanager
def logged(file: str | Path) -> Iterator[None]:
    """Redirect output and errors to `file`; for an `MSTError`, print its message to the file and the screen.

    Raises
    ------
    SystemExit
        With code 1, after an `MSTError`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mst.logged import logged
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = pathlib.Path(folder, "job.log")
    ...     with logged(log):
    ...         print("at work")
    ...     log.read_text()
    'at work\\n'
    """
    with Path(file).open("w", encoding="utf-8") as log:
        try:
            with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
                yield
        except MSTError as error:
            print(error, file=log)
            print(error, file=sys.stderr)
            raise SystemExit(1) from None
        except BaseException:
            traceback.print_exc(file=log)
            raise
