"""The ladder mechanism: its law on neighbouring graphs, for all outputs, and its sampler."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import ladder_log_probability, ladder_rung
from tests.support.privacy_checks import (
    SHAPES,
    SmallGraph,
    clique,
    fit_to_law,
    largest_ladder_loss,
    small_graphs,
    two_hubs,
)

from coterie.anonymize.private import exact_counts
from coterie.anonymize.private.ladder import Ladder, draw
from coterie.data import Graph

EPSILON = 0.25
DIAMOND = SmallGraph(4, clique(4).edges - {(2, 3)})  # its neighbours use most of epsilon
ROUNDING = 1e-9


def triangles(graph: Graph) -> Ladder:
    return exact_counts.triangle_ladder(graph, exact_counts.node_triangles(graph), 0)


def clustering(graph: Graph, damping: int = 6) -> Ladder:
    return exact_counts.clustering_ladder(graph, exact_counts.node_triangles(graph), damping, 0)


@given(small_graphs(7), st.integers(0, 3))
def test_loss_is_at_most_epsilon_for_every_output(graph: SmallGraph, floor: int) -> None:
    def with_floor(g: Graph) -> Ladder:
        return exact_counts.triangle_ladder(g, exact_counts.node_triangles(g), floor)

    assert largest_ladder_loss(with_floor, graph, EPSILON) <= EPSILON + ROUNDING


@pytest.mark.parametrize("graph", SHAPES)
def test_loss_of_extreme_shapes_is_at_most_epsilon(graph: SmallGraph) -> None:
    assert largest_ladder_loss(triangles, graph, EPSILON) <= EPSILON + ROUNDING
    for damping in (3, 6):
        loss = largest_ladder_loss(lambda g, d=damping: clustering(g, d), graph, EPSILON)
        assert loss <= EPSILON + ROUNDING


def test_the_bound_is_nearly_reached() -> None:
    """The check is not blind."""
    assert largest_ladder_loss(triangles, DIAMOND, EPSILON) > 0.9 * EPSILON
    assert largest_ladder_loss(clustering, DIAMOND, EPSILON) > 0.75 * EPSILON


# --- mutants: each must be caught ------------------------------------------------------------


def test_mutant_without_the_half_is_caught() -> None:
    assert largest_ladder_loss(triangles, DIAMOND, EPSILON, half=1.0) > 1.5 * EPSILON


def test_mutant_without_a_step_is_caught() -> None:
    def constant(graph: Graph) -> Ladder:
        right = triangles(graph)
        return Ladder(right.value, right.width, 0)

    # a flip that changes the width moves far outputs by many rungs
    assert largest_ladder_loss(constant, two_hubs(10), EPSILON) > 1.2 * EPSILON


def test_mutant_without_the_change_at_the_ends_is_caught() -> None:
    def no_ends(graph: Graph) -> Ladder:
        right = clustering(graph)
        own, _ = exact_counts.clustering_constants(graph.n_nodes, 6)
        return Ladder(right.value, right.width - 2 * own, right.step)

    losses = [largest_ladder_loss(no_ends, g, EPSILON) for g in (clique(4), clique(5), *SHAPES)]
    assert max(losses) > 1.2 * EPSILON


def test_mutant_with_a_width_that_jumps_is_caught() -> None:
    """A cheaper bound only for graphs with many edges: the width may not depend on them so."""

    def jumping(graph: Graph) -> Ladder:
        right = triangles(graph)
        width = right.width if graph.n_edges < 16 else int(graph.degrees.max()) * 3
        return Ladder(right.value, width, right.step)

    assert largest_ladder_loss(jumping, two_hubs(10), EPSILON) > 1.2 * EPSILON


def test_mutant_with_a_floor_read_from_the_graph_is_caught() -> None:
    def private_floor(graph: Graph) -> Ladder:
        floor = 4 * (graph.n_edges % 2)
        return exact_counts.triangle_ladder(graph, exact_counts.node_triangles(graph), floor)

    assert largest_ladder_loss(private_floor, SHAPES[1], EPSILON) > 1.2 * EPSILON


# --- the sampler -----------------------------------------------------------------------------

LADDERS = [Ladder(5, 3, 1), Ladder(0, 0, 2), Ladder(-7, 4, 0)]


def sampler_fit(ladder: Ladder, epsilon: Fraction, sampler=draw, count: int = 4_000) -> float:
    """Return the p-value of samples against the closed-form law."""
    samples = np.array([sampler(ladder, epsilon) for _ in range(count)])

    def law(x: int) -> float:
        parts = ladder.value, ladder.width, ladder.step
        return math.exp(ladder_log_probability(x, *parts, float(epsilon)))

    return fit_to_law(samples, law, ladder.value - 60, ladder.value + 60)


@pytest.mark.parametrize("ladder", LADDERS)
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(5, 2)])
def test_samples_follow_the_law(ladder: Ladder, epsilon: Fraction) -> None:
    assert sampler_fit(ladder, epsilon) > 1e-9


def test_mutant_sampler_without_the_half_is_caught() -> None:
    mutant = lambda ladder, epsilon: draw(ladder, 2 * epsilon)  # noqa: E731
    assert sampler_fit(LADDERS[0], Fraction(1), mutant) < 1e-9


def test_parts_of_the_sampler_add_up_to_the_law() -> None:
    """The three parts, times their acceptance, have the weights of the rungs (closed form)."""
    width, step, q = 7, 3, math.exp(-0.3)
    for t in range(60):
        second = 2 * width * q * (1 - q) * (1 - q) * q**t
        third = 2 * step * q * q * (t * q ** (t - 1) * (1 - q) ** 2 if t else 0.0)
        wanted = 2 * (width + t * step) * q ** (t + 1) * (1 - q) ** 2
        assert second + third == pytest.approx(wanted, rel=1e-12)


@given(st.integers(-50, 50), st.integers(0, 9), st.integers(0, 5), st.integers(-3000, 3000))
def test_rungs_follow_their_definition(value: int, width: int, step: int, x: int) -> None:
    if width + step == 0:
        return
    assert Ladder(value, width, step).rung(x) == ladder_rung(x, value, width, step)


@pytest.mark.parametrize("ladder", [Ladder(0, 0, 0), Ladder(0, -1, 2)])
def test_a_ladder_without_rungs_is_an_error(ladder: Ladder) -> None:
    with pytest.raises(ValueError, match="needs a width or a step"):
        draw(ladder, Fraction(1))


def test_a_small_epsilon_takes_no_longer() -> None:
    """Rungs are drawn directly: far rungs need no walk over all of them."""
    assert abs(draw(Ladder(0, 5, 1), Fraction(1, 10**9))) > 10**6
