"""Draw docs/images/genres.svg: which genres the item groups of MovieLens-100k contain.

    python benchmarks/genres.py [--picture FILE.svg]

The model is fitted to users, items and ratings only; the genres of u.item are used for the picture.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np

import coterie as ct
from coterie.data.datasets import load, path
from record import Recorder, add_options, show

GROUPS, LEAST = 8, 40  # item groups; genres with fewer films are left out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--picture", type=Path, default=Path("docs/images/genres.svg"))
    add_options(parser)
    given = parser.parse_args()
    ratings = load("ml-100k")
    assert isinstance(ratings, ct.Ratings)
    model = ct.MMSBM(
        n_groups=(GROUPS, GROUPS), max_iter=200, prior=0.1, negatives_per_rating=1.0, rng=0
    )
    model.fit(ratings)
    folder = Path(path("ml-100k"))
    folder = folder if folder.is_dir() else folder.parent
    names, genres = read_genres(folder, ratings.item_ids)
    weight = model.item_memberships_ * np.bincount(ratings.items)[:, None]
    lift = (genres.T @ weight / weight.sum(axis=0)) / (
        genres.T @ weight.sum(axis=1) / weight.sum()
    )[:, None]
    order = np.argsort(np.argmax(lift, axis=0), kind="stable")
    draw(np.log2(np.maximum(lift[:, order], 2**-3)), names, given.picture)
    titles = dict(read_titles(folder))
    rows = []
    for place, group in enumerate(order):
        best = np.argsort(-weight[:, group])[:5]
        films = "; ".join(titles[int(ratings.item_ids[v])] for v in best)
        rows.append({"group": place, "films": films})
        show(rows[-1])
    Recorder("genres", given).add(
        "groups",
        rows,
        title="The five films with the largest share in each item group",
        data="MovieLens-100k (943 users, 1,682 items, 100,000 ratings)",
        asked=f"MMSBM({GROUPS} x {GROUPS} groups, prior=0.1, one negative pair per rating, rng=0)",
        threads="all cores",
    )


def lines(folder: Path) -> list[list[str]]:
    text = (folder / "u.item").read_text("latin-1")
    return [line.split("|") for line in text.splitlines() if line]


def read_titles(folder: Path) -> list[tuple[int, str]]:
    return [(int(fields[0]), fields[1]) for fields in lines(folder)]


def read_genres(folder: Path, ids: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the names of the common genres, and a 0/1 table of items x genres."""
    rows = [line.split("|")[0] for line in (folder / "u.genre").read_text().split("\n") if line]
    flags = {int(f[0]): np.array(f[-len(rows) :], float) for f in lines(folder)}
    table = np.array([flags[int(item)] for item in ids])
    common = [g for g in range(len(rows)) if table[:, g].sum() >= LEAST]
    return [rows[g] for g in common], table[:, common]


def draw(lift: np.ndarray, names: list[str], out: Path) -> None:
    plt.rcParams |= {"svg.hashsalt": "coterie", "font.family": "sans-serif", "font.size": 9}
    figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
    image = axes.imshow(lift, cmap="PuOr_r", vmin=-2, vmax=2, aspect="auto")
    axes.set_yticks(range(len(names)), names)
    axes.set_xticks(range(lift.shape[1]), [str(j) for j in range(lift.shape[1])])
    axes.set_xlabel("item group")
    axes.tick_params(length=0)
    bar = figure.colorbar(image, ax=axes, ticks=[-2, -1, 0, 1, 2])
    bar.ax.set_yticklabels(["1/4", "1/2", "average", "2 times", "4 times"])
    axes.set_title("Genres in the item groups, compared with all ratings", loc="left", fontsize=10)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    main()
