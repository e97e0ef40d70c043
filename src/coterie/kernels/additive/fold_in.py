"""Add a new user or item to a fitted additive block model, with everything else fixed."""

from __future__ import annotations

import numpy as np

from coterie.kernels.additive.distributions import between, normal
from coterie.kernels.additive.response_styles import exact_style_scores
from coterie.kernels.additive.sweep import draw_category, label_weights
from coterie.kernels.numba.dispatch import njit


@njit(nogil=True, cache=True)
def fold_in(state, levels, labels, offsets, effects, cuts, styles, own_style, precision, sweeps):
    """Draw a node's labels, offset (and style) for each sample, given its n ratings.

    IN levels n; labels T x n x L and offsets T x n of the other side; effects T x L x own x other;
    cuts T x S x (R + 1); styles T x n of the raters, unless the node itself has a style (own_style:
    it is a user); precision T of the offset. Each sample starts from the previous one.
    OUT own labels T x L, offsets and their variances T, styles T.
    """
    T, L, k, l = effects.shape  # noqa: E741
    n, S = len(levels), cuts.shape[1]
    own = np.zeros((T, L), np.uint8)
    offset = np.float32(0.0)  # as drawn; the result is its conditional mean
    mean, variance = np.zeros(T, np.float32), np.zeros(T, np.float32)
    style = np.zeros(T, np.uint8)
    f, x = np.zeros(n), np.zeros(n)
    total, count = np.zeros(l), np.zeros(l)
    label_score, style_score = np.zeros(k), np.zeros(S)
    for t in range(T):
        if t > 0:
            own[t], style[t] = own[t - 1], style[t - 1]
        bounds = cuts[t].astype(np.float64)
        M = effects[t].astype(np.float64)
        M_back = np.ascontiguousarray(M.transpose(0, 2, 1))
        for e in range(n):
            f[e] = offset + offsets[t, e]
            for s in range(L):
                f[e] += M[s, own[t, s], labels[t, e, s]]
        for _ in range(sweeps):
            if own_style:
                style_score[:] = 0.0
                exact_style_scores(levels, f, bounds, style_score)
                state, new = draw_category(state, style_score)
                style[t] = new
            for e in range(n):
                c = bounds[style[t] if own_style else styles[t, e]]
                state, x[e] = between(state, c[levels[e]] - f[e], c[levels[e] + 1] - f[e])
            state, noise = normal(state)
            strength = n + precision[t]
            fresh = np.float32((x.sum() + n * offset) / strength + noise / np.sqrt(strength))
            x -= fresh - offset
            f += fresh - offset
            offset = fresh
            for s in range(L):
                total[:] = 0.0
                count[:] = 0.0
                old = own[t, s]
                for e in range(n):
                    j = labels[t, e, s]
                    total[j] += x[e] + M[s, old, j]
                    count[j] += 1.0
                label_score[:] = 0.0
                label_weights(total, count, M_back[s], 1.0, label_score)
                state, new = draw_category(state, label_score)
                own[t, s] = new
                if new != old:
                    for e in range(n):
                        step = M[s, new, labels[t, e, s]] - M[s, old, labels[t, e, s]]
                        x[e] -= step
                        f[e] += step
        mean[t] = (x.sum() + n * offset) / (n + precision[t])
        variance[t] = 1.0 / (n + precision[t])
    return own, mean, variance, style
