"""Read Matrix Market files (.mtx) with scipy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, max_nodes, place_name, read_all
from coterie.data.formats.format import EdgeTable, Format

if TYPE_CHECKING:
    from coterie.data.column_roles import WantedColumns
    from coterie.data.text_reader import Columns


def _read_matrix(path: PathLike) -> tuple[Any, bool]:
    """Return the matrix in coordinate form, and whether the file calls it symmetric."""
    import numpy as np
    from scipy.io import mminfo, mmread

    content = read_all(path)
    if not content.getvalue().endswith(b"\n"):  # scipy 1.17 reads past the end, and may crash
        content.write(content.getvalue() + b"\n")
        content.seek(0)
    try:
        rows, columns, _, _, _, symmetry = mminfo(content)
        if max(rows, columns) > max_nodes():
            raise InputError(f"{rows:,} x {columns:,} do not fit into memory")
        content.seek(0)
        matrix = mmread(content)
    except InputError:
        raise
    except Exception as error:  # the parser raises many types of errors for malformed files
        raise InputError(
            f"cannot be read as Matrix Market: {error}", remedy="check the file, or export it again"
        ) from error
    if np.iscomplexobj(getattr(matrix, "data", matrix)):
        raise InputError("the numbers are complex", remedy="use real ones")
    if isinstance(matrix, np.ndarray):
        from scipy.sparse import coo_array

        matrix = coo_array(matrix)
    return matrix, symmetry in ("symmetric", "skew-symmetric", "hermitian")


def read_matrix_graph(path: PathLike, _: object = None) -> EdgeTable:
    """Read a square matrix as a graph; nodes are 1..n, and zeros are not edges."""
    import numpy as np

    matrix, symmetric = _read_matrix(path)
    rows, columns = matrix.shape
    if rows != columns:
        raise InputError(
            f"the matrix has {rows:,} rows and {columns:,} columns, so it is not a graph",
            remedy="set `objective` to ratings if the rows are users and the columns items",
        )
    present = np.asarray(matrix.data) != 0
    values = np.asarray(matrix.data, np.float64)[present]
    sources, targets = np.asarray(matrix.row)[present] + 1, np.asarray(matrix.col)[present] + 1
    if symmetric:  # the reader fills in the other half
        once = sources <= targets
        sources, targets, values = sources[once], targets[once], values[once]
    return EdgeTable(
        [str(n) for n in sources.tolist()],
        [str(n) for n in targets.tolist()],
        values.tolist() if (values != 1).any() else None,
        [str(n) for n in range(1, rows + 1)],
        not symmetric,
    )


def read_matrix_table(path: PathLike, wanted: WantedColumns, _: object) -> Columns:
    """Read a matrix as a table: the number of the row, of the column, and the value."""
    import numpy as np

    from coterie.data.text_layout import layout_in_order
    from coterie.data.text_reader import Columns

    if len(wanted.ids) != 2:
        raise InputError("a matrix cannot hold this table")
    matrix, _symmetric = _read_matrix(path)
    names = [*wanted.ids, *wanted.numbers]
    layout = layout_in_order(wanted)
    columns = Columns(place_name(path), layout, len(names), unit="edge")
    columns.column_names, columns.rows = names, len(matrix.data)
    for name, place in zip(wanted.ids, (matrix.row, matrix.col), strict=True):
        columns.pieces[name] = [np.asarray(place).astype(np.int64) + 1]
    for name in wanted.numbers:
        columns.pieces[name] = [np.asarray(matrix.data, np.float64)]
    return columns


FORMAT = Format(
    name="mtx",
    title="Matrix Market",
    about="an adjacency matrix with nodes 1 to n; a matrix of ratings",
    suffixes=(".mtx",),
    aliases=("matrixmarket",),
    starts=r"%%MatrixMarket",
    edges=read_matrix_graph,
    columns=read_matrix_table,
)
