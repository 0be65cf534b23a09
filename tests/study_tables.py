"""Checks of the tables of studies that several test files use."""

from __future__ import annotations

import numpy as np
import pandas as pd


def same(again: pd.DataFrame, written: pd.DataFrame) -> None:
    assert again.shape == written.shape
    for column in again:
        if pd.api.types.is_numeric_dtype(again[column]) and not pd.api.types.is_bool_dtype(again[column]):
            a, b = (frame[column].to_numpy(dtype=float, na_value=np.nan) for frame in (again, written))
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-8, err_msg=column)
        else:
            assert again[column].astype(str).tolist() == written[column].astype(str).tolist(), column
