"""Read and write Parquet: columns by name or by order, the notes of a graph in the metadata."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, max_nodes, place_name, read_all
from coterie.data.formats.format import Cells, Format

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from coterie.base.json_values import JsonObject
    from coterie.data.column_roles import WantedColumns
    from coterie.data.table import ReadOptions
    from coterie.data.text_reader import Columns

_KEY = b"coterie"
_ROWS = 1 << 18  # read at once
_SAMPLE = 200  # rows that show what a column holds


@contextmanager
def _opened(path: PathLike) -> Iterator[Any]:
    """Open a Parquet file; whatever is wrong with it is an InputError with its name."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        yield parquet.ParquetFile(read_all(path) if str(path) == "-" else _existing_file(path))
    except pa.ArrowMemoryError as error:
        raise MemoryError from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"is not a Parquet file: {error}", remedy="check the file") from error


def read_parquet(
    path: PathLike,
    wanted: WantedColumns,
    _: object = None,
    *,
    consume: Callable[[Columns], None] | None = None,
) -> Columns:
    """Read columns of a Parquet file; with `consume`, some rows at a time, as `read_text` does."""
    import numpy as np
    import pyarrow as pa

    from coterie.data.text_layout import make_layout
    from coterie.data.text_reader import Columns

    name = place_name(path)
    with _opened(path) as table:
        fields = table.schema_arrow.names
        layout = make_layout("", fields, _first_rows(table), wanted, named=True)
        if len(layout.slot) > len(fields):
            raise InputError(
                f"the columns {fields} do not include {', '.join(layout.names)}",
                remedy="add the missing columns",
            )
        places = [int(np.flatnonzero(layout.slot == i)[0]) for i in range(len(layout.names))]
        columns = Columns(name, layout, len(fields), unit="row")
        columns.column_names, columns.format = fields, "parquet"
        _read_notes(columns, table.schema_arrow.metadata or {})
        names = [fields[place] for place in places]
        if consume is None:
            _add(columns, table.read(names))
        else:
            for batch in table.iter_batches(_ROWS, columns=names):
                _add(columns, pa.Table.from_batches([batch]).select(names))
                consume(columns)
    return columns


def _first_rows(table: Any) -> list[list[str]]:
    """Return some rows as text; the rows of a first batch that has nothing missing."""
    batch = next(table.iter_batches(_SAMPLE), None)
    columns = [] if batch is None else [column.to_pylist() for column in batch.columns]
    rows = zip(*columns, strict=True)
    return [list(map(str, row)) for row in rows if None not in row]


def read_parquet_cells(path: PathLike, options: ReadOptions) -> Cells:
    """Return the names of the columns and all rows, as typed values."""
    with _opened(path) as table:
        rows = [list(table.schema_arrow.names)]
        for batch in table.iter_batches(_ROWS):
            columns = [column.to_pylist() for column in batch.columns]
            rows += map(list, zip(*columns, strict=True))
            if options.most_rows is not None and len(rows) > options.most_rows:
                break
    return Cells(rows, list(range(-1, len(rows) - 1)), has_names=True)


def _add(columns: Columns, data: pa.Table) -> None:
    """Add rows; a missing value is an error that names its row in the file."""
    import numpy as np

    layout = columns.layout
    for number, name in enumerate(layout.names):
        column = data.column(number)
        if column.null_count:
            row = columns.rows + int(np.argmax(column.is_null().to_numpy()))
            raise columns.error(f"the {name} is missing", row, "fill it in or drop the row")
        read = _id_pieces if number < layout.n_ids else _number_pieces
        columns.pieces[name] += read(columns, column, name)
    columns.rows += data.num_rows


def write_parquet(columns: Mapping[str, np.ndarray], file: IO[bytes], notes: JsonObject) -> None:
    """Write columns, and the notes of a graph (nodes, isolated) in the metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    arrays = {name: pa.array(column) for name, column in columns.items()}
    metadata = {_KEY: json.dumps(notes).encode()} if notes else None
    parquet.write_table(pa.table(arrays, metadata=metadata), file)


def _existing_file(path: PathLike) -> str:
    """Return the path of a file; pyarrow would read a folder as a data set."""
    with open(path, "rb"):
        return str(path)


def _id_pieces(columns: Columns, column: pa.ChunkedArray, name: str) -> list[Any]:
    """Return a column of integers, or of text as dictionary-encoded chunks."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if pa.types.is_integer(kind):
        try:
            return [column.cast(pa.int64()).to_numpy()]
        except pa.ArrowInvalid:
            column = column.cast(pa.string())
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view":
        column = column.cast(pa.string())
    else:
        raise InputError(
            f"the {name} column has the type {kind}", remedy="use integers or text as ids"
        )
    return [chunk.dictionary_encode() for chunk in column.chunks]


def _number_pieces(columns: Columns, column: pa.ChunkedArray, name: str) -> list[Any]:
    """Return a column of numbers; times as integers."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_integer(column.type) and name == "timestamp":
        return [column.cast(pa.int64()).to_numpy()]
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return [column.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()]
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InputError(f"the {name} column has the type {column.type}", remedy="use numbers")
    values = column.cast(pa.float64(), safe=False).to_numpy()
    if not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        problem = f"the {name} {values[at]} is not finite"
        raise columns.error(problem, columns.rows + at, "fix the value")
    return [values]


def _read_notes(columns: Columns, metadata: dict[bytes, bytes]) -> None:
    """Read the notes of a graph; anything malformed is ignored."""
    try:
        notes = json.loads(metadata.get(_KEY, b"{}"))
        nodes, isolated = notes.get("nodes"), notes.get("isolated", [])
    except (ValueError, AttributeError):
        return
    if isinstance(nodes, int) and 0 <= nodes <= max_nodes():
        columns.nodes = nodes
    if isinstance(isolated, list):
        columns.isolated = [str(name) for name in isolated]


FORMAT = Format(
    name="parquet",
    title="Parquet",
    about="the first columns, or columns with known names",
    suffixes=(".parquet", ".pq"),
    starts=r"(?-i:PAR1)",
    columns=read_parquet,
    cells=read_parquet_cells,
    writes_tables=True,
    in_pieces=True,
)
