"""How good predictions are: of ratings (eq:rmse) and of rankings."""

from __future__ import annotations

import numpy as np


def rating_metrics(
    p: np.ndarray, values: np.ndarray, levels: np.ndarray, truth: np.ndarray
) -> dict[str, float]:
    """RMSE of the mean, MAE of the median, accuracy of the mode, and mean log-loss.

    IN p: pairs x values; levels: the true rating's place in values; truth: the rating itself.

    >>> p, values = np.array([[0.2, 0.8]]), np.array([1.0, 2.0])
    >>> m = rating_metrics(p, values, np.array([1]), np.array([2.0]))
    >>> {name: round(x, 3) for name, x in m.items()}
    {'rmse': 0.2, 'mae': 0.0, 'accuracy': 1.0, 'log_loss': 0.223}
    """
    own = p[np.arange(len(p)), levels]
    return {
        "rmse": float(np.sqrt(np.mean((p @ values - truth) ** 2))),
        "mae": float(np.mean(np.abs(values[medians(p)] - truth))),
        "accuracy": float(np.mean(p.argmax(axis=1) == levels)),
        "log_loss": float(-np.mean(np.log(np.maximum(own, 1e-15)))),
    }


def medians(p: np.ndarray) -> np.ndarray:
    """The median's place in each distribution: the first where half of it is reached."""
    reached = np.cumsum(p, axis=1) >= 0.5 * p.sum(axis=1, keepdims=True)
    return np.asarray(reached.argmax(axis=1))


def ndcg(gains: np.ndarray, all_gains: np.ndarray, n: int) -> float:
    """Discounted gain of a ranking's first n, over that of the best possible ranking.

    >>> round(ndcg(np.array([0.0, 1.0]), np.array([1.0]), 2), 4)
    0.6309
    """
    best = np.sort(all_gains)[::-1][:n]
    ideal = float((best / np.log2(np.arange(len(best)) + 2)).sum())
    got = float((gains[:n] / np.log2(np.arange(len(gains[:n])) + 2)).sum())
    return got / ideal if ideal > 0 else 0.0


def ranking_metrics(
    ranked: list[np.ndarray], relevant: list[np.ndarray], n_items: int, n: int
) -> dict[str, float]:
    """NDCG@n, precision@n and recall@n over the users with something relevant; and the share of
    all items that appears in any list.

    >>> m = ranking_metrics([np.array([3, 1])], [np.array([1])], 4, 2)
    >>> m["precision"], m["recall"], m["coverage"]
    (0.5, 1.0, 0.5)
    """
    totals = np.zeros(3)
    counted = 0
    shown: set[int] = set()
    for best, wanted in zip(ranked, relevant, strict=True):
        shown.update(best.tolist())
        if not len(wanted):
            continue
        hits = np.isin(best, wanted).astype(float)
        totals += (
            ndcg(hits, np.ones(len(wanted)), n),
            hits[:n].sum() / n,
            hits[:n].sum() / len(wanted),
        )
        counted += 1
    mean = totals / max(counted, 1)
    return {
        "ndcg": float(mean[0]),
        "precision": float(mean[1]),
        "recall": float(mean[2]),
        "coverage": len(shown) / max(n_items, 1),
    }
