"""Read a sheet of an Excel workbook (.xlsx) as rows of text, with openpyxl."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from coterie.base.errors import InputError, MissingDependencyError, near_miss
from coterie.data.byte_source import PathLike, read_all
from coterie.data.formats.format import Cells, Format, numbered

if TYPE_CHECKING:
    from coterie.data.table import ReadOptions

_MAX_CELLS = 30_000_000  # a million rows of 30 columns
_MAX_UNPACKED = 4 << 30  # bytes of XML; a workbook with all its million rows has less


def read_sheet(path: PathLike, options: ReadOptions) -> Cells:
    """Return the rows of a sheet: the one that the options name, else the only one with content."""
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise MissingDependencyError(
            "reading Excel files needs openpyxl",
            remedy="pip install 'coterie[excel]', or save the sheet as CSV",
        ) from None
    content = read_all(path)
    _check_size(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and extensions, which are not read
            book = openpyxl.load_workbook(content, read_only=True, data_only=True)
            sheets = {sheet.title: _rows(sheet) for sheet in book.worksheets}
    except InputError:
        raise
    except Exception as error:  # the parser raises many types of errors for malformed files
        raise InputError(
            f"cannot be read as Excel: {type(error).__name__}: {error}"[:300],
            remedy="open it and save it again, or save the sheet as CSV",
        ) from error
    filled = {title: rows for title, rows in sheets.items() if rows}
    titles = ", ".join(map(repr, filled))
    if options.sheet is not None:
        if options.sheet not in sheets:
            meant = near_miss(options.sheet, sheets)
            raise InputError(
                f"there is no sheet {options.sheet!r}", remedy=f"use one of {titles}{meant}"
            )
        return numbered(sheets[options.sheet])
    if len(filled) > 1:
        raise InputError(
            f"{len(filled)} sheets have content: {titles}", remedy="set `sheet` to one of them"
        )
    return numbered(next(iter(filled.values()), []))


def _check_size(content: Any) -> None:
    import zipfile

    try:
        with zipfile.ZipFile(content) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except zipfile.BadZipFile as error:
        raise InputError(f"the Excel file is damaged ({error})", remedy="save it again") from error
    if size > _MAX_UNPACKED:
        raise InputError("the Excel file unpacks to more than 4 GB")
    content.seek(0)


def _rows(sheet: Any) -> list[list[str]]:
    """Return the rows that are not empty, without empty columns at the end."""
    sheet.reset_dimensions()  # one far cell would give every row the width of the whole sheet
    rows = []
    for given in sheet.iter_rows(values_only=True):
        row = [_cell(value) for value in given]
        while row and not row[-1]:
            row.pop()
        if row:
            rows.append(row)
    width = max(map(len, rows), default=0)
    if width * len(rows) > _MAX_CELLS:
        raise InputError(
            f"sheet {sheet.title!r} spans {len(rows):,} rows and {width:,} columns",
            remedy="delete cells that are far away from the table, or save the sheet as CSV",
        )
    return [row + [""] * (width - len(row)) for row in rows]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value).strip()


FORMAT = Format(
    name="excel",
    title="Excel",
    about="the same, from the sheet that `--sheet` names or the only one with content; requires "
    "`coterie[excel]`",
    suffixes=(".xlsx", ".xlsm"),
    aliases=("xlsx",),
    cells=read_sheet,
)
