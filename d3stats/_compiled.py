"""Machine code of a function, by numba, in the one way that all compiled modules of the package have.

Importing this module loads numba; a module that does so is itself imported inside functions only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile on first use, keep the machine code on disk, release the interpreter lock while running."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
