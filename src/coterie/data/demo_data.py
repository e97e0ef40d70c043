"""Two small invented data sets with names, for the demo and the documentation."""

from __future__ import annotations

from itertools import product

import numpy as np

from coterie.base.errors import InputError
from coterie.base.randomness import RandomState, as_generator
from coterie.data.graph import Graph
from coterie.data.ratings import Ratings

_GIVEN = tuple(
    """Ada Amir Anna Ben Carla Chen Dana David Elif Emil Fatima Felix Grace Hana Hugo Ines Ivan Jana
    Jonas Kofi Lena Leo Lin Luca Maya Mia Milan Nadia Nils Noor Olga Omar Paul Petra Rosa Samir
    Sara Sofia Tariq Tom Uma Vera Viktor Yuki Zoe""".split()  # noqa: SIM905
)
_FAMILY = tuple(
    """Abara Berger Castro Dubois Eriksen Fischer Garcia Haddad Ivanova Jensen Kaya Lindgren Moreau
    Novak Okafor Petrov Quist Rossi Sato Tanaka Ueda Varga Weber Xu Yilmaz Zimmer""".split()  # noqa: SIM905
)
COMMUNITIES = ("chess club", "choir", "climbers", "gardeners", "makers", "runners")

_GENRES = {
    "comedy": ("The Accidental", "My Second", "Almost a", "Two and a Half", "The Wrong"),
    "crime": ("The Last", "A Quiet", "Midnight", "The Honest", "Seven Days of a"),
    "romance": ("Dear", "Summer of the", "Letters to a", "Dancing with the", "Return of the"),
    "science fiction": ("Orbital", "The Silent", "Android", "Beyond the", "Year of the"),
}
_NOUNS = {
    "comedy": ("Uncle", "Wedding", "Plumber", "Holiday", "Mayor"),
    "crime": ("Witness", "Alibi", "Detective", "Harbour", "Heist"),
    "romance": ("Stranger", "Lighthouse", "Pianist", "Orchard", "Neighbour"),
    "science fiction": ("Colony", "Signal", "Engineer", "Horizon", "Comet"),
}


def social_network(*, n_people: int = 300, rng: RandomState = 0) -> tuple[Graph, np.ndarray]:
    """Draw a network of people in six clubs; return it and the club of each person.

    Ids are names. Friends form small circles in which nearly everybody knows everybody, so there
    are triangles as in a real network. Some acquaintances are between clubs, and some people take
    part in two clubs.

    >>> graph, clubs = social_network()
    >>> graph.n_nodes, len(graph.ids[0].split()), COMMUNITIES[clubs[0]] in COMMUNITIES
    (300, 2, True)
    """
    _check_size(n_people)
    random = as_generator(rng)
    clubs = np.sort(random.integers(0, len(COMMUNITIES), n_people)).astype(np.int32)
    members = [np.flatnonzero(clubs == c) for c in range(len(COMMUNITIES))]
    pairs: list[np.ndarray] = []
    for people in members:
        guests = random.choice(n_people, len(people) // 10)
        everybody = np.concatenate([people, guests])
        for _ in range(len(people) // 2):  # circles of friends, nearly complete
            circle = random.permutation(everybody)[: random.integers(3, 7)]
            a, b = np.triu_indices(len(circle), 1)
            known = random.random(len(a)) < 0.8
            pairs.append(np.stack([circle[a[known]], circle[b[known]]]))
        if len(people):  # one more acquaintance in the club for everybody
            pairs.append(np.stack([people, random.choice(people, len(people))]))
    pairs.append(random.integers(0, max(n_people, 1), (2, n_people // 3)))
    source, target = np.concatenate(pairs, axis=1)
    names = np.array([" ".join(pair) for pair in product(_GIVEN, _FAMILY)], dtype=object)
    ids = random.permutation(names)[:n_people]
    pairs_once = np.unique(np.sort(np.stack([source, target]), axis=0), axis=1)
    source, target = pairs_once[:, pairs_once[0] != pairs_once[1]]
    return Graph.from_edges(source, target, n_nodes=n_people, ids=ids), clubs


def movie_ratings(*, n_users: int = 240, rng: RandomState = 0) -> tuple[Ratings, dict[str, str]]:
    """Draw ratings of 100 invented films from 1 to 5; return them and the genre of each title.

    A viewer likes one or two genres, films differ in quality and popularity, and most people watch
    more of what they like.

    >>> ratings, genres = movie_ratings()
    >>> ratings.n_items, sorted(set(genres.values()))[0], ratings.values.tolist()
    (100, 'comedy', [1.0, 2.0, 3.0, 4.0, 5.0])
    """
    _check_size(n_users)
    random = as_generator(rng)
    genres = {
        f"{first} {noun}": genre
        for genre in _GENRES
        for first, noun in product(_GENRES[genre], _NOUNS[genre])
    }
    titles = np.array(list(genres), dtype=object)
    kinds = np.unique(list(genres.values()), return_inverse=True)[1]
    taste = random.dirichlet(np.full(len(_GENRES), 0.4), n_users) * 4 - 1  # mean 0, up to 3
    quality, fame = random.normal(0, 0.5, len(titles)), random.normal(0, 0.7, len(titles))
    liking = taste[:, kinds]
    wish = np.exp(fame + 0.4 * liking + random.gumbel(size=liking.shape))
    seen = random.integers(15, 41, n_users)
    users = np.repeat(np.arange(n_users), seen)
    order = np.argsort(-wish, axis=1)
    items = np.concatenate([order[u, : seen[u]] for u in range(n_users)])
    mood = random.normal(0, 0.4, n_users)
    score = 3.1 + mood[users] + quality[items] + 0.8 * liking[users, items]
    stars = np.clip(np.rint(score + random.normal(0, 0.5, len(users))), 1, 5)
    names = np.array(
        [f"{given} {family[0]}." for family, given in product(_FAMILY, _GIVEN)], object
    )
    return Ratings.from_arrays(names[users], titles[items], stars), genres


def _check_size(people: int) -> None:
    """Raise InputError for more people than there are names."""
    if not 1 <= people <= len(_GIVEN) * len(_FAMILY):
        raise InputError(
            f"there are not enough names for {people} people",
            remedy=f"use 1 to {len(_GIVEN) * len(_FAMILY)}",
        )
