"""Read adjacency matrices: square tables of numbers, with or without the names of the nodes."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike
from coterie.data.formats.format import EdgeTable, Format

if TYPE_CHECKING:
    from coterie.data.table import ReadOptions


class Verdict(Enum):
    """Whether a table is an adjacency matrix."""

    matrix = "matrix"
    maybe = "maybe"
    other = "other"


class MatrixShape(NamedTuple):
    """What a table looks like, and whether it has names in its first row and column."""

    verdict: Verdict
    header: bool = False
    names: bool = False


def matrix_shape(rows: list[list[str]], complete: bool) -> MatrixShape:
    """Judge the first rows of a table; `complete` says that these are all rows.

    A square table of numbers, mostly zeros and ones, is a matrix; so is one whose first row and
    first column have the same names. Three by three could also be three weighted edges.

    >>> matrix_shape([["", "a", "b"], ["a", "0", "1"], ["b", "1", "0"]], True).names
    True
    >>> matrix_shape([["0", "1", "1"], ["1", "0", "1"], ["1", "1", "0"]], True).verdict
    <Verdict.maybe: 'maybe'>
    >>> matrix_shape([["1", "2", "5"], ["1", "3", "4"]], True).verdict
    <Verdict.other: 'other'>
    """
    if len(rows) < 2:
        return MatrixShape(Verdict.other)
    head, body = rows[0], rows[1:]
    # with a corner cell, or without one as R writes it
    if any(_are_names(names, head, body, complete) for names in (head[1:], head)):
        return MatrixShape(Verdict.matrix, header=True, names=True)
    header = not _are_numbers([head])
    numbers = body if header else rows
    width = len(numbers[0])
    square = len(numbers) == width if complete else width > max(len(numbers), 20)
    regular = all(len(row) == width for row in numbers) and len(head) == width
    if width < 3 or not square or not regular or not _are_numbers(numbers):
        return MatrixShape(Verdict.other)
    values = [float(cell) for row in numbers for cell in row]
    simple = sum(value in (0.0, 1.0) for value in values)
    if simple < 0.9 * len(values) and sum(value == 0 for value in values) < 0.5 * len(values):
        return MatrixShape(Verdict.other)
    sure = width > 3 and 0.0 in values
    return MatrixShape(Verdict.matrix if sure else Verdict.maybe, header=header)


def _are_numbers(rows: list[list[str]]) -> bool:
    from coterie.data.text_fields import is_number

    return all(is_number(cell) for row in rows for cell in row)


def _are_names(names: list[str], head: list[str], body: list[list[str]], complete: bool) -> bool:
    """Return whether the first column repeats these names of the first row, above numbers."""
    width = len(names) + 1
    return (
        len(names) >= 2
        and not _are_numbers([head])  # an empty corner is not a number
        and all(len(row) == width for row in body)
        and [row[0] for row in body] == names[: len(body)]
        and _are_numbers([row[1:] for row in body])
        and (len(body) == len(names) or not complete)
    )


def matrix_edges(rows: list[list[str]], *, directed: bool) -> EdgeTable:
    """Return the edges of a matrix; an undirected graph must have a symmetric one."""
    shape = matrix_shape(rows, True)
    body = rows[1:] if shape.header else rows
    cells = [row[1:] for row in body] if shape.names else body
    n = len(cells)
    if shape.names:
        names = [row[0] for row in body]
    else:
        names = rows[0] if shape.header else [str(number) for number in range(n)]
    if any(len(row) != n for row in cells):
        bad = next(number for number, row in enumerate(cells) if len(row) != n)
        problem = f"row {bad + 1} has {len(cells[bad])} numbers, but there are {n} rows"
        raise InputError(problem, remedy="an adjacency matrix is square")
    if len(set(names)) < n:
        raise InputError("two nodes have the same name", remedy="rename one of them")
    try:
        values = [[float(cell or 0) for cell in row] for row in cells]
    except ValueError as error:
        raise InputError(f"a cell is not a number: {error}", remedy="use numbers only") from None
    if not directed:
        _require_symmetric(names, values)
    table = EdgeTable(nodes=list(names), directed=directed)
    weights: list[float] = []
    for u, row in enumerate(values):
        for v in range(n) if directed else range(u, n):
            if row[v]:
                table.sources.append(names[u])
                table.targets.append(names[v])
                weights.append(row[v])
    if any(weight != 1 for weight in weights):
        table.weights = weights
    return table


def _require_symmetric(names: list[str], values: list[list[float]]) -> None:
    for u, row in enumerate(values):
        for v in range(u):
            if row[v] != values[v][u]:
                raise InputError(
                    f"the matrix is not symmetric: {names[u]!r}, {names[v]!r} is {row[v]:g}, "
                    f"but {names[v]!r}, {names[u]!r} is {values[v][u]:g}",
                    remedy="set `directed` for edges with a direction",
                )


def read_matrix(path: PathLike, options: ReadOptions) -> EdgeTable:
    """Read a text file that the user calls an adjacency matrix."""
    from coterie.data.text_reader import text_cells

    rows = text_cells(path, options.separator, columns=2).rows
    return matrix_edges(rows, directed=options.directed)


FORMAT = Format(
    name="matrix",
    title="adjacency matrix",
    about="text or Excel with one row and one column per node, with or without names",
    aliases=("adjacency",),
    edges=read_matrix,
)
