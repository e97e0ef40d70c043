"""The configuration model from private degrees: edge differential privacy, and degrees alone.

The sorted degrees are published with noise, made to fall again, and wired at random (Hay, Li,
Miklau & Jensen, "Accurate Estimation of the Degree Distribution of Private Networks", 2009).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.random import Generator

from coterie.anonymize.private.degree_estimates import falling_fit
from coterie.anonymize.private.noise import add_noise
from coterie.data import Graph

from .configuration import random_graph_of_degrees

_SENSITIVITY = 2  # an edge adds 1 to two degrees, and sorting does not increase the difference


def private_degrees(graph: Graph, epsilon: Fraction) -> np.ndarray:
    """Return a falling degree sequence with edge differential privacy `epsilon` (int64[n])."""
    exact = np.sort(graph.degrees)[::-1].astype(np.int64)
    fitted = falling_fit(add_noise(exact, _SENSITIVITY, epsilon).astype(np.float64))
    degrees = np.clip(np.rint(fitted), 0, max(graph.n_nodes - 1, 0)).astype(np.int64)
    if degrees.sum() % 2:  # every edge has two ends
        degrees[0] += 1 if degrees[0] < graph.n_nodes - 1 else -1
    return np.asarray(degrees)


def private_configuration(graph: Graph, epsilon: Fraction, rng: Generator) -> Graph:
    """Draw a graph with private degrees and random edges; nobody keeps their own degree."""
    return random_graph_of_degrees(rng.permutation(private_degrees(graph, epsilon)), rng)
