"""Arrays as columns of Arrow data. pyarrow's own conversion imports pandas, which takes longer than writing a graph."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_arrow(values: np.ndarray) -> Any:
    """Return a contiguous array of integers or floats as a pyarrow array, without a copy."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
