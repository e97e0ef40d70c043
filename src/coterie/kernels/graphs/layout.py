"""Force-directed positions of nodes in the plane. Used by `report/charts/layout.py`.

The forces are those of ForceAtlas2 (Jacomy, Venturini, Heymann & Bastian, PLoS ONE 9(6), 2014):
neighbours attract each other in proportion to their distance d; all nodes repel each other by
mass * mass / d, where the mass of a node is its degree plus 1; gravity pulls to the centre. The
repulsion of far nodes is summed over the cells of a k-d tree (Barnes & Hut, 1986), so one
iteration costs O(m + n log n).

    place        float64 (n, 2): positions
    mass         float64 (n,): degree plus 1
    order        int64 (n,): the nodes in the order of the leaves of the tree
    begin, end   int64 (cells,): the part of `order` that a cell contains; cell c has the children
                 2c + 1 and 2c + 2, and all leaves are on the last level
    theta        a cell counts as one mass if its extent is below theta times its distance
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit

_LEAF = 8  # nodes per leaf, at most
_DEEPEST = 48  # levels of the tree; the stack of the traversal is twice as long
_TOLERANCE = 1.0  # how much swinging is accepted: the parameter tau of ForceAtlas2
_FASTER = 1.5  # largest growth of the speed per iteration
_TINY = 1e-12


@njit(cache=True)
def _halve(order, lo, hi, middle, place, axis):
    """Reorder order[lo:hi] so that the coordinates before `middle` are at most those after it."""
    while hi - lo > 1:
        pivot = place[order[(lo + hi) // 2], axis]
        i, j = lo, hi - 1
        while i <= j:
            while place[order[i], axis] < pivot:
                i += 1
            while place[order[j], axis] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            hi = j + 1
        elif middle >= i:
            lo = i
        else:
            return


@njit(cache=True)
def _build(place, mass, order, begin, end, centre, total, extent):
    """Build the tree: every cell is cut in two halves across its longer side."""
    cells = len(begin)
    begin[0], end[0] = 0, len(order)
    for c in range(cells):
        lo, hi = begin[c], end[c]
        low_x, high_x, low_y, high_y = np.inf, -np.inf, np.inf, -np.inf
        x, y, heavy = 0.0, 0.0, 0.0
        for i in range(lo, hi):
            v = order[i]
            low_x, high_x = min(low_x, place[v, 0]), max(high_x, place[v, 0])
            low_y, high_y = min(low_y, place[v, 1]), max(high_y, place[v, 1])
            x += mass[v] * place[v, 0]
            y += mass[v] * place[v, 1]
            heavy += mass[v]
        total[c] = heavy
        extent[c] = 0.0
        if hi > lo:
            centre[c, 0], centre[c, 1] = x / heavy, y / heavy
            extent[c] = np.hypot(high_x - low_x, high_y - low_y)
        if 2 * c + 2 < cells:
            middle = (lo + hi) // 2
            if hi - lo > 1:
                _halve(order, lo, hi, middle, place, 0 if high_x - low_x > high_y - low_y else 1)
            begin[2 * c + 1], end[2 * c + 1] = lo, middle
            begin[2 * c + 2], end[2 * c + 2] = middle, hi


@njit(cache=True)
def _tree_size(n):
    """Return the number of cells of a tree whose leaves have at most _LEAF nodes."""
    leaves = 1
    while leaves * _LEAF < n:
        leaves *= 2
    return 2 * leaves - 1


@njit(nogil=True, cache=True)
def repulsion(place, mass, theta):
    """Return (float64, (n, 2)) the repulsive force on every node; theta = 0 is exact, O(n²)."""
    n = len(place)
    cells = _tree_size(n)
    order = np.arange(n)
    begin, end = np.empty(cells, np.int64), np.empty(cells, np.int64)
    centre, total, extent = np.zeros((cells, 2)), np.empty(cells), np.empty(cells)
    force = np.zeros((n, 2))
    stack = np.empty(2 * _DEEPEST, np.int64)
    _build(place, mass, order, begin, end, centre, total, extent)
    for v in range(n):
        x, y = place[v, 0], place[v, 1]
        fx, fy = 0.0, 0.0
        stack[0] = 0
        height = 1
        while height > 0:
            height -= 1
            c = stack[height]
            if end[c] == begin[c]:
                continue
            dx, dy = x - centre[c, 0], y - centre[c, 1]
            square = dx * dx + dy * dy
            if extent[c] * extent[c] < theta * theta * square:
                pull = mass[v] * total[c] / square
                fx += pull * dx
                fy += pull * dy
            elif 2 * c + 2 < cells:
                stack[height], stack[height + 1] = 2 * c + 1, 2 * c + 2
                height += 2
            else:
                for i in range(begin[c], end[c]):
                    w = order[i]
                    if w != v:
                        dx, dy = x - place[w, 0], y - place[w, 1]
                        pull = mass[v] * mass[w] / max(dx * dx + dy * dy, _TINY)
                        fx += pull * dx
                        fy += pull * dy
        force[v, 0], force[v, 1] = fx, fy
    return force


@njit(cache=True)
def _pull(indptr, indices, place, mass, gravity, force):
    """Add attraction along edges and gravity, which is `gravity` times the mass."""
    for v in range(len(place)):
        x, y = place[v, 0], place[v, 1]
        fx, fy = 0.0, 0.0
        for slot in range(indptr[v], indptr[v + 1]):
            w = indices[slot]
            fx += place[w, 0] - x
            fy += place[w, 1] - y
        far = max(np.hypot(x, y), _TINY)
        force[v, 0] += fx - gravity * mass[v] * x / far
        force[v, 1] += fy - gravity * mass[v] * y / far


@njit(nogil=True, cache=True)
def force_layout(indptr, indices, start, iterations, scaling, gravity, theta):
    """Return positions (float64, (n, 2)) after a number of iterations from `start`.

    Nothing is random here: the same start gives the same positions. A node that swings (its force
    changes direction) moves more slowly, as in ForceAtlas2. `scaling` multiplies the repulsion.
    """
    n = len(start)
    place = start.copy()
    mass = np.empty(n)
    for v in range(n):
        mass[v] = 1.0 + indptr[v + 1] - indptr[v]
    before = np.zeros((n, 2))
    speed = 1.0
    for _ in range(iterations):
        force = scaling * repulsion(place, mass, theta)
        _pull(indptr, indices, place, mass, gravity, force)
        swinging, traction = 0.0, 0.0
        for v in range(n):
            swinging += mass[v] * np.hypot(force[v, 0] - before[v, 0], force[v, 1] - before[v, 1])
            traction += (
                0.5 * mass[v] * np.hypot(force[v, 0] + before[v, 0], force[v, 1] + before[v, 1])
            )
        if swinging > 0.0:
            speed = min(_TOLERANCE * traction / swinging, _FASTER * speed)
        for v in range(n):
            swing = np.hypot(force[v, 0] - before[v, 0], force[v, 1] - before[v, 1])
            step = 0.1 * speed / (1.0 + speed * np.sqrt(swing))
            size = np.hypot(force[v, 0], force[v, 1])
            if size > 0.0:
                step = min(step, 10.0 / size)
            place[v, 0] += step * force[v, 0]
            place[v, 1] += step * force[v, 1]
            before[v, 0], before[v, 1] = force[v, 0], force[v, 1]
    return place


@njit(nogil=True, cache=True)
def pivot_distances(indptr, indices, pivots, first):
    """Return (float64, (n, pivots)) the distance of every node of a connected graph to pivots.

    The first pivot is given; each next one is the node farthest from all before. O(m) per pivot.
    """
    n = len(indptr) - 1
    distance = np.zeros((n, pivots))
    nearest = np.full(n, np.inf)
    queue = np.empty(n, np.int64)
    steps = np.empty(n, np.int64)
    for p in range(pivots):
        steps[:] = -1
        queue[0], steps[first] = first, 0
        filled, i = 1, 0
        while i < filled:
            v = queue[i]
            i += 1
            for slot in range(indptr[v], indptr[v + 1]):
                w = indices[slot]
                if steps[w] < 0:
                    steps[w] = steps[v] + 1
                    queue[filled] = w
                    filled += 1
        for v in range(n):
            distance[v, p] = steps[v]
            nearest[v] = min(nearest[v], steps[v])
        first = np.argmax(nearest)
    return distance
