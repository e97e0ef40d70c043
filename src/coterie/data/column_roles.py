"""What the columns of a table hold: the words that name a role, and how the others are found.

A column is found by the words of its name, in English, German, French or Spanish; what remains, by
its content and its place. Where two readings are possible, the reader stops and asks for the
parameter that decides.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from coterie.base.errors import InputError, near_miss

# Role of a column -> the words that name it, in lower case and without accents
WORDS = {
    "source": "source src from fromnode fromnodeid sourceid sender caller follower citing giver"
    " von absender quelle ursprung de expediteur emetteur origine remitente emisor origen desde",
    "target": "target tgt dst dest destination to tonode tonodeid targetid receiver recipient"
    " callee followee followed friend neighbor neighbour cited taker an nach empfaenger empfanger"
    " ziel vers destinataire cible destinatario receptor destino para hacia",
    "user": "user users userid reviewer rater customer client reader viewer listener member buyer"
    " player subscriber account visitor kunde kunden nutzer benutzer kaeufer kaufer leser"
    " utilisateur lecteur acheteur usuario cliente lector comprador",
    "item": "item items itemid movie movieid film product productid book bookid isbn asin sku"
    " artist artistid track song album business restaurant hotel shop recipe game video article"
    " joke anime artikel produkt buch filme livre produit producto libro pelicula articulo",
    "number": "weight weights rating ratings score scores stars value count overall plays playcount"
    " strength amount quantity hours minutes calls messages frequency gewicht bewertung sterne"
    " anzahl staerke starke stunden note punkte poids nombre heures valeur peso puntuacion"
    " calificacion valoracion estrellas horas numero valor",
    "time": "timestamp time times date day datetime unixtime created createdat datum zeit zeitpunkt"
    " heure fecha hora jour dia",
    "node": "node nodeid id ids person people vertex actor name knoten noeud personne nodo persona",
    "block": "block blocks label group community cluster class team department club",
    "published": "published",
    "original": "original",
    "title": "title name movietitle itemname productname booktitle",
}
ROLE_OF = {word: role for role in reversed(WORDS) for word in WORDS[role].split()}
RATING_WORDS = frozenset(["rating", "ratings", "score", "stars"])
_ROLE_OF_WANTED = {"rating": "number", "weight": "number", "timestamp": "time"}
_OTHER_KIND = {"source": ["user"], "target": ["item"], "user": ["source"], "item": ["target"]}
_NO_IDS = ("number", "time")
_IDS = ("node", "user", "item", "published")
_ABOUT_IDS = ("id", "ids", "nr", "no", "nummer", "number", "num", "code", "key")
_ABOUT_NAMES = ("name", "email", "mail", "address")
_FIRST, _SECOND = ("a", "1", "i", "one", "x"), ("b", "2", "ii", "two", "y")
_MANY_ROWS = 150  # of a sample: the file may have more
_PARTS = re.compile(r"[^\W\d_]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}([T ].*)?")
_FRACTION = re.compile(r"[+-]?\d*[.,]\d+([eE][+-]?\d+)?")
_QUANTITY = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")


class WantedColumns(NamedTuple):
    """The columns that a caller needs, with their names in error messages."""

    ids: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    times: tuple[str, ...] = ()  # optional
    chosen: tuple[tuple[str, str], ...] = ()  # wanted column -> its name in the file
    two_kinds: bool = False  # source and target may be users and items

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, the optional ones last."""
        return (*self.ids, *self.numbers, *self.times)


def plain_name(field: str) -> str:
    """Return the name of a column in lower case, without accents, blanks and punctuation.

    >>> plain_name("Movie_ID"), plain_name("Empfänger")
    ('movieid', 'empfanger')
    """
    return "".join(_words(field))


@cache
def _words(field: str) -> list[str]:
    split = unicodedata.normalize("NFKD", _CAMEL.sub(" ", field))
    letters = "".join(letter for letter in split if not unicodedata.combining(letter))
    return [part.lower() for part in _PARTS.findall(letters)]


class Role(NamedTuple):
    """The role that the name of a column says, and how directly it does: 0 is most direct."""

    name: str
    rank: int


@cache
def role_of(field: str) -> Role | None:
    """Return the role that a name says; None if it says none.

    >>> [role_of(name).name for name in ("ISBN", "User-ID", "Book-Rating", "To person", "Person B")]
    ['item', 'user', 'number', 'target', 'target']
    """
    words = _words(field)
    plain = "".join(words)
    if plain in ROLE_OF:
        return Role(ROLE_OF[plain], 0)
    if len(words) > 1 and words[-1] in _FIRST + _SECOND:  # "Person A", "node2"
        of = role_of("".join(words[:-1]))
        if of is not None and of.name in ("node", "user"):
            return Role("source" if words[-1] in _FIRST else "target", 1)
    rank = 1
    for endings, worse in ((_ABOUT_IDS, 1), (_ABOUT_NAMES, 2)):
        if len(words) > 1 and words[-1] in endings:
            words, rank = words[:-1], worse
        elif len(words) == 1 and (end := _ending(words[0], endings)):
            words, rank = [words[0].removesuffix(end)], worse
    last = ROLE_OF.get(words[-1]) if words else None
    if last in _NO_IDS:
        return Role(last, 1) if rank == 1 and words == _words(field) else None
    first = ROLE_OF.get(words[0]) if words else None
    if first in ("source", "target"):
        return Role(first, 2)
    return None if last is None else Role(last, rank)


def _ending(word: str, endings: Sequence[str]) -> str:
    """Return the ending of a compound such as Kundennummer or reviewerid, if what is left is known.

    >>> _ending("kundennummer", ("id", "nummer"))
    'nummer'
    """
    return next((e for e in endings if word.endswith(e) and word[: -len(e)] in ROLE_OF), "")


def id_column(fields: list[str], role: str = "id") -> int | None:
    """Return the first column whose name means ids, or titles with `role="title"`; else None.

    >>> id_column(["team", "Node"]), id_column(["x", "y"])
    (1, None)
    """
    for n, field in enumerate(fields):
        plain, found = plain_name(field), role_of(field)
        if role == "title":
            if plain in WORDS["title"].split():
                return n
        elif found is not None and found.name in _IDS and plain != "name":
            return n
    return None


def columns_by_words(
    fields: Sequence[str], wanted: WantedColumns, *, strict: bool = True
) -> dict[str, int]:
    """Return the wanted columns whose names say their roles.

    Where two names say it equally well, raise InputError; not if `strict` is not set.

    >>> columns_by_words(["ISBN", "User-ID", "Book-Rating"], WantedColumns(("user", "item")))
    {'user': 1, 'item': 0}
    """
    roles = [role_of(str(field)) for field in fields]
    found = {}
    for name in wanted.names:
        meant = [_ROLE_OF_WANTED.get(name, name)]
        if wanted.two_kinds:
            meant += _OTHER_KIND.get(name, [])
        ranked = sorted(
            (r.rank, n) for n, r in enumerate(roles) if r is not None and r.name in meant
        )
        if not ranked:
            continue
        if strict and len(ranked) > 1 and ranked[0][0] == ranked[1][0]:
            if plain_name(str(fields[ranked[0][1]])) == plain_name(str(fields[ranked[1][1]])):
                raise InputError(
                    f"two columns of the header have the name {fields[ranked[0][1]]!r}",
                    remedy="give every column its own name",
                )
            if name not in wanted.times:
                raise _question([str(fields[n]) for _, n in ranked], name)
        found[name] = ranked[0][1]
    return found


def are_names(fields: list[str], rows: list[list[str]], wanted: WantedColumns) -> bool:
    """Return whether the first line has names of columns, by their words alone."""
    known = [n for n, field in enumerate(fields) if role_of(field) is not None]
    roles = {role_of(fields[n]).name for n in known}  # type: ignore[union-attr]
    found = columns_by_words(fields, wanted, strict=False)
    ids = [name for name in wanted.ids if name in found]
    two_kinds = {"user", "item"} <= roles
    if len(known) < 2 or len(roles) < 2 or not (ids or two_kinds):
        return False
    if any(_QUANTITY.fullmatch(field) for field in fields):
        return False
    cells = {cell for row in rows for cell in row}
    return not any(fields[n] in cells for n in known)


def find_columns(
    fields: list[str], rows: list[list[str]], wanted: WantedColumns, *, named: bool
) -> dict[str, int]:
    """Find the wanted columns of a table: chosen by the user, by words, by content and place.

    `fields` are the names of the columns if `named` is set, else the first row; `rows` are some of
    the other rows.
    """
    found: dict[str, int] = {}
    if wanted.chosen:
        found = {name: column_of(fields, column, named) for name, column in wanted.chosen}
    if named:
        by_words = columns_by_words(fields, wanted, strict=not found)
        found |= {n: c for n, c in by_words.items() if n not in found and c not in found.values()}
        _refuse_two_kinds(fields, wanted, found)
    content = _Content(fields, rows, named)
    if not any(name in found for name in (*wanted.ids, *wanted.numbers)):
        return _in_usual_places(content, wanted) | found
    missing = [name for name in wanted.ids if name not in found]
    if missing:
        found |= _remaining_ids(content, wanted, found, missing)
    for name in wanted.numbers:
        if name not in found:
            found[name] = _remaining_number(content, found, name)
    if len(set(found.values())) < len(found):
        raise InputError("one column is chosen twice", remedy="choose different columns")
    return {name: found[name] for name in wanted.names if name in found}


def _refuse_two_kinds(fields: list[str], wanted: WantedColumns, found: dict[str, int]) -> None:
    """Raise InputError for a table of users and items where a network of one kind is wanted."""
    if (
        wanted.ids != ("source", "target")
        or wanted.two_kinds
        or any(n in found for n in wanted.ids)
    ):
        return
    both = columns_by_words(fields, WantedColumns(("user", "item")), strict=False)
    if len(both) == 2:
        user, item = (fields[both[name]] for name in ("user", "item"))
        raise InputError(
            f"{user!r} and {item!r} are two kinds of nodes, not the two ends of an edge",
            remedy="set `two_mode` or `objective=ratings` (anonymize: `objective=bipartite`); if "
            "both columns hold the same kind, name them with `source` and `target`",
        )


class _Content:
    """The cells of a table by column, and what they can be."""

    def __init__(self, fields: list[str], rows: list[list[str]], named: bool) -> None:
        self.fields, self.named = fields, named
        body = rows if named else [fields, *rows]
        self.columns = [[row[n] for row in body if n < len(row)] for n in range(len(fields))]

    def all_match(self, column: int, *patterns: re.Pattern[str]) -> bool:
        """Return whether a column has cells, and all of them have one of these forms."""
        cells = self.columns[column] if column < len(self.columns) else []
        return bool(cells) and all(any(p.fullmatch(cell) for p in patterns) for cell in cells)

    def free(self, found: dict[str, int], *, numbers: bool = False) -> list[int]:
        """Return the columns that can still be an id, or a number."""
        free = []
        for n, field in enumerate(self.fields):
            role = role_of(field) if self.named else None
            about_ids = role is None or role.name not in _NO_IDS
            if n in found.values() or self.all_match(n, _DATE):
                continue
            if numbers:
                fits = about_ids and (not self.columns[n] or self.all_match(n, _QUANTITY))
            else:
                fits = about_ids and not any(map(_FRACTION.fullmatch, self.columns[n]))
            if fits:
                free.append(n)
        return free

    def overlap(self, one: int, other: int) -> bool:
        """Return whether two columns have a value in common."""
        return not set(self.columns[one]).isdisjoint(self.columns[other])

    def question(self, columns: Sequence[int], name: str) -> InputError:
        """Return the error that asks which of these columns holds what."""
        return _question([self.fields[n] for n in columns], name, named=self.named)


def _question(names: Sequence[str], name: str, *, named: bool = True) -> InputError:
    option = "time" if name == "timestamp" else name
    how = "the name of a column" if named else "its number, such as 2, and `header=False`"
    return InputError(
        f"which of the columns {listed(names)} is the {name}?", remedy=f"set `{option}` to {how}"
    )


def _in_usual_places(content: _Content, wanted: WantedColumns) -> dict[str, int]:
    """Return the columns in their order; ask if what they hold does not fit."""
    fields, n_ids = content.fields, len(wanted.ids)
    found = dict(zip(wanted.ids, range(n_ids), strict=True))
    if n_ids == 2 and len(fields) > 2:
        for name, column in found.items():
            if content.all_match(column, _DATE):
                raise content.question(range(len(fields)), name)
        if wanted.ids == ("source", "target") and not wanted.two_kinds:
            found = _ends_by_content(content)
    found |= dict.fromkeys(wanted.numbers, n_ids)
    after = n_ids + len(wanted.numbers)
    if len(fields) > after and (
        not content.columns[after] or content.all_match(after, _DATE, _QUANTITY)
    ):
        found |= dict.fromkeys(wanted.times, after)
    return found


def _ends_by_content(content: _Content) -> dict[str, int]:
    """Return the two columns that hold the ends of edges, in a table of three or more columns.

    Columns with an id in common are. A large list of edges may not show one in its first rows, so
    only what has names of columns, and text, is doubted.
    """
    usual = {"source": 0, "target": 1}
    integers = all(content.all_match(n, _QUANTITY) for n in (0, 1))
    if len(content.columns[0]) < 2 or (integers and not content.named) or content.overlap(0, 1):
        return usual
    free = content.free({})
    pairs = [(a, b) for a in free for b in free if a < b and content.overlap(a, b)]
    if len(pairs) == 1:
        return dict(zip(usual, pairs[0], strict=True))
    if not content.named and len(content.columns[0]) >= _MANY_ROWS:
        return usual
    names = [
        repr(field) if content.named else f"column {n}" for n, field in enumerate(content.fields, 1)
    ]
    raise InputError(
        f"no id is both in {names[0]} and in {names[1]}: this is not a list of edges, or its "
        "columns are others",
        remedy="set `source` and `target` to columns, or `two_mode` if the first two columns hold "
        "two kinds of nodes",
    )


def _remaining_ids(
    content: _Content, wanted: WantedColumns, found: dict[str, int], missing: list[str]
) -> dict[str, int]:
    """Return the columns of ids whose names say nothing: those that are left, if it is clear."""
    free = content.free(found)
    if len(free) > len(missing) and len(wanted.ids) == 2 and len(missing) == 1:
        known = found[next(name for name in wanted.ids if name in found)]
        if wanted.ids == ("source", "target"):
            free = [n for n in free if content.overlap(n, known)] or free
    usual = list(range(len(wanted.ids)))
    if len(missing) == len(wanted.ids) and free[: len(usual)] == usual:
        free = usual
    if len(free) < len(missing):
        raise InputError(
            f"the columns {listed(content.fields)} do not include the {missing[0]}",
            remedy=f"add the column, or set `{missing[0]}` to its name",
        )
    if len(free) > len(missing):
        raise content.question(free, missing[0])
    return dict(zip(missing, free, strict=True))


def _remaining_number(content: _Content, found: dict[str, int], name: str) -> int:
    """Return the column of numbers whose name says nothing: the only one that is left."""
    free = content.free(found, numbers=True)
    if len(free) > 1:
        raise content.question(free, name)
    if free:
        return free[0]
    if len(content.fields) > len(found):
        raise InputError(
            f"the header {content.fields} has no {name} column",
            remedy=f"call the column {name!r}, or set `{name}`",
        )
    return len(content.fields)  # the line is too short, which the reader says


def column_of(fields: list[str], name: str, named: bool = True) -> int:
    """Return the column with this name in the header; case matters only if it has to.

    Without a header, the name is a number, counted from 1.

    >>> column_of(["Person A", "Person B"], "person b"), column_of(["ann", "bob"], "2", False)
    (1, 1)
    """
    if not named:
        if name.isdecimal() and 1 <= int(name) <= len(fields):
            return int(name) - 1
        raise InputError(
            f"there is no column {name!r}", remedy=f"give a number from 1 to {len(fields)}"
        )
    for same in (str, str.casefold):
        places = [n for n, field in enumerate(fields) if same(field) == same(name)]
        if len(places) == 1:
            return places[0]
        if places:
            raise InputError(
                f"{len(places)} columns have the name {name!r}", remedy="rename one of them"
            )
    raise InputError(
        f"there is no column {name!r}; the first line has {listed(fields)}",
        remedy=f"use one of these names{near_miss(name, fields)}",
    )


def listed(fields: Sequence[str]) -> str:
    """Return names for a message, at most ten of them."""
    shown = ", ".join(repr(str(field)) for field in fields[:10])
    return shown + (f" and {len(fields) - 10} more" if len(fields) > 10 else "")
