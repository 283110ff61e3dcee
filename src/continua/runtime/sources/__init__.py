"""Sources: files of rows, read into values, put in the order of their instants."""

from continua.runtime.sources.convert import convert
from continua.runtime.sources.order import Arrival, Late, late_diagnostic, order_rows
from continua.runtime.sources.read import read_source
from continua.runtime.sources.rejects import write_rejects
from continua.runtime.sources.spec import Reject, SourceRow, SourceSpec

__all__ = [
    "Arrival",
    "Late",
    "Reject",
    "SourceRow",
    "SourceSpec",
    "convert",
    "late_diagnostic",
    "order_rows",
    "read_source",
    "write_rejects",
]
