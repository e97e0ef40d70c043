"""Read adjacency matrices: square tables of numbers, with or without the names of the nodes."""

from __future__ import annotations

from typing import NamedTuple

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, place_name
from coterie.data.edge_table import EdgeTable
from coterie.data.text_fields import is_number

MATRIX, MAYBE, OTHER = "matrix", "maybe", "other"


class MatrixShape(NamedTuple):
    """What a table looks like, and whether it has names in its first row and column."""

    verdict: str  # MATRIX, MAYBE or OTHER
    header: bool = False
    names: bool = False


def matrix_shape(rows: list[list[str]], complete: bool) -> MatrixShape:
    """Judge the first rows of a table; `complete` says that these are all rows.

    A square table of numbers, mostly zeros and ones, is a matrix; so is one whose first row and
    first column have the same names. Three by three could also be three weighted edges.

    >>> matrix_shape([["", "a", "b"], ["a", "0", "1"], ["b", "1", "0"]], True)
    MatrixShape(verdict='matrix', header=True, names=True)
    >>> matrix_shape([["0", "1", "1"], ["1", "0", "1"], ["1", "1", "0"]], True)
    MatrixShape(verdict='maybe', header=False, names=False)
    >>> matrix_shape([["1", "2", "5"], ["1", "3", "4"]], True)
    MatrixShape(verdict='other', header=False, names=False)
    """
    if len(rows) < 2:
        return MatrixShape(OTHER)
    head, body = rows[0], rows[1:]
    for named in (head[1:], head):  # with a corner cell, or without one as R writes it
        width = len(named) + 1
        if (
            len(named) >= 2
            and not all(is_number(name) for name in head)  # an empty corner is not a number
            and all(len(row) == width for row in body)
            and [row[0] for row in body] == named[: len(body)]
            and all(is_number(cell) for row in body for cell in row[1:])
            and (len(body) == len(named) or not complete)
        ):
            return MatrixShape(MATRIX, header=True, names=True)
    header = not all(is_number(cell) for cell in head)
    numbers = body if header else rows
    width = len(numbers[0])
    square = len(numbers) == width if complete else width > max(len(numbers), 20)
    regular = all(len(row) == width for row in numbers) and len(head) == width
    if width < 3 or not square or not regular:
        return MatrixShape(OTHER)
    if not all(is_number(cell) for row in numbers for cell in row):
        return MatrixShape(OTHER)
    values = [float(cell) for row in numbers for cell in row]
    simple = sum(value in (0.0, 1.0) for value in values)
    if simple < 0.9 * len(values) and sum(value == 0 for value in values) < 0.5 * len(values):
        return MatrixShape(OTHER)
    return MatrixShape(MATRIX if width > 3 and 0.0 in values else MAYBE, header=header)


def matrix_edges(
    path: PathLike, rows: list[list[str]], shape: MatrixShape, *, directed: bool
) -> EdgeTable:
    """Return the edges of a matrix; an undirected graph must have a symmetric one."""
    body = rows[1:] if shape.header else rows
    cells = [row[1:] for row in body] if shape.names else body
    n = len(cells)
    if shape.names:
        names = [row[0] for row in body]
    else:
        names = rows[0] if shape.header else [str(number) for number in range(n)]
    if any(len(row) != n for row in cells):
        bad = next(number for number, row in enumerate(cells) if len(row) != n)
        raise _error(
            path, f"row {bad + 1} has {len(cells[bad])} numbers, but there are {n} rows",
            "an adjacency matrix is square",
        )  # fmt: skip
    if len(set(names)) < n:
        raise _error(path, "two nodes have the same name", "rename one of them")
    try:
        values = [[float(cell or 0) for cell in row] for row in cells]
    except ValueError as error:
        raise _error(path, f"a cell is not a number: {error}", "use numbers only") from None
    if not directed:
        for u, row in enumerate(values):
            for v in range(u):
                if row[v] != values[v][u]:
                    raise _error(
                        path,
                        f"the matrix is not symmetric: {names[u]!r}, {names[v]!r} is {row[v]:g}, "
                        f"but {names[v]!r}, {names[u]!r} is {values[v][u]:g}",
                        "set `directed` for edges with a direction",
                    )
    table = EdgeTable(nodes=list(names), directed=directed, weights=[])
    for u, row in enumerate(values):
        for v in range(n) if directed else range(u, n):
            if row[v]:
                table.sources.append(names[u])
                table.targets.append(names[v])
                table.weights.append(row[v])  # type: ignore[union-attr]
    if all(weight == 1 for weight in table.weights or ()):
        table.weights = None
    return table


def _error(path: PathLike, problem: str, remedy: str) -> InputError:
    return InputError(problem, path=place_name(path), remedy=remedy)
