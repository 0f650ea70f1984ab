"""Where Spark finds FFF's data source by itself: it looks into every module whose name begins with `pyspark_`."""

from __future__ import annotations

from fff.frames.spark_data_source import FFFDataSource as DefaultSource

__all__ = ["DefaultSource"]
