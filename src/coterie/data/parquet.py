"""Parquet: columns by name or by order; what text says in comments stands in its metadata."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import IO, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, place_name, whole
from coterie.data.text_layout import Wanted, arrange, header_roles
from coterie.data.text_reader import Columns, most_nodes

_KEY = b"coterie"
_ROWS = 1 << 18  # read at a time


class ParquetColumns(Columns):
    """A table has rows where a text has lines."""

    unit = "row"

    def line(self, row: int) -> int:
        return row


def read_parquet(
    path: PathLike, wanted: Wanted, *, consume: Callable[[Columns], None] | None = None
) -> Columns:
    """The wanted columns of a Parquet file; with `consume` some rows at a time, as `read_text`."""
    name = place_name(path)
    try:
        source: Any = whole(path) if str(path) == "-" else _checked(path)
        table = parquet.ParquetFile(source)
        fields = table.schema_arrow.names
        layout = arrange("", fields, header_roles(fields, len(wanted.ids)), wanted)
        if len(layout.slot) > len(fields):
            raise InputError(
                f"the columns {fields} are not enough for {', '.join(layout.names)}", path=name
            )
        places = [int(np.flatnonzero(layout.slot == i)[0]) for i in range(len(layout.names))]
        columns = ParquetColumns(name, layout, len(fields))
        _take_metadata(columns, table.schema_arrow.metadata or {})
        names = [fields[place] for place in places]
        if consume is None:
            _add(columns, table.read(names))
        else:
            for batch in table.iter_batches(_ROWS, columns=names):
                _add(columns, pa.Table.from_batches([batch]).select(names))
                consume(columns)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"no Parquet file: {error}", path=name, remedy="check it") from error
    return columns


def _add(columns: Columns, data: pa.Table) -> None:
    """More rows; a missing value is named by its row in the file."""
    layout = columns.layout
    for number, name in enumerate(layout.names):
        column = data.column(number)
        if column.null_count:
            row = columns.rows + int(np.argmax(column.is_null().to_numpy()))
            raise columns.error(f"the {name} is missing", row, "fill it in or drop the row")
        read = _ids if number < layout.n_ids else _numbers
        columns.pieces[name] += read(columns, column, name)
    columns.rows += data.num_rows


def write_parquet(columns: dict[str, Any], file: IO[bytes], notes: dict[str, Any]) -> None:
    """Columns as they are, text as strings, and notes (nodes, isolated) in the metadata."""

    arrays = {name: pa.array(column) for name, column in columns.items()}
    metadata = {_KEY: json.dumps(notes).encode()} if notes else None
    parquet.write_table(pa.table(arrays, metadata=metadata), file)


def _checked(path: PathLike) -> str:
    """The path, once it is known that it is a file; pyarrow takes a folder for a data set."""
    with open(path, "rb"):
        return str(path)


def _ids(columns: Columns, column: pa.ChunkedArray, name: str) -> list[Any]:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_integer(kind):
        try:
            return [column.cast(pa.int64()).to_numpy()]
        except pa.ArrowInvalid:
            column = column.cast(pa.string())
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        column = column.cast(pa.string())
    else:
        raise InputError(
            f"the {name} column holds {kind}", path=columns.name, remedy="ids are integers or text"
        )
    return [chunk.dictionary_encode() for chunk in column.chunks]


def _numbers(columns: Columns, column: pa.ChunkedArray, name: str) -> list[Any]:
    if pa.types.is_integer(column.type) and name == "timestamp":
        return [column.cast(pa.int64()).to_numpy()]
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return [column.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()]
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(
            f"the {name} column holds {column.type}", path=columns.name, remedy="give numbers"
        )
    values = column.cast(pa.float64(), safe=False).to_numpy()
    if not np.isfinite(values).all():
        row = columns.rows + int(np.argmin(np.isfinite(values)))
        raise columns.error(f"the {name} {values[row]} is not finite", row, "mend it")
    return [values]


def _take_metadata(columns: Columns, metadata: dict[bytes, bytes]) -> None:
    try:
        notes = json.loads(metadata.get(_KEY, b"{}"))
        nodes, isolated = notes.get("nodes"), notes.get("isolated", [])
    except (ValueError, AttributeError):
        return
    if isinstance(nodes, int) and 0 <= nodes <= most_nodes():
        columns.nodes = nodes
    if isinstance(isolated, list):
        columns.isolated = [str(name) for name in isolated]
