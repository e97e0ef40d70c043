"""The samplers follow their laws exactly, and read the operating system's random bits only."""

from __future__ import annotations

import ast
import inspect
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import (
    discrete_laplace_probability,
    geometric_probability,
    noise_from_words,
)
from tests.support.privacy_checks import fit_to_law

from coterie.anonymize.private import (
    answers,
    budget,
    exact_counts,
    ladder,
    noise,
    public_rules,
    stream_partition,
)
from coterie.kernels.anonymize import private_counts, private_noise

# scale 20 is that of the degrees at epsilon 1, 5 / 2 that of the stream
SCALES = [Fraction(1, 7), Fraction(1), Fraction(5, 2), Fraction(20), Fraction(2_000_000_000, 99)]

LUCK = 1e-9  # p-values below it are no accident; a chi-square test is not exact so far out


class WordsOf:
    """Random words that can be replayed, in reads of any size."""

    def __init__(self, seed: int, largest_read: int = 10**9) -> None:
        self._source = random.Random(seed)
        self._largest = largest_read
        self.given: list[int] = []

    def __call__(self, count: int) -> np.ndarray:
        new = [self._source.getrandbits(63) for _ in range(min(count, self._largest))]
        self.given += new
        return np.array(new, np.int64)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("scale", [*SCALES, Fraction(2**34 - 1, 2**42 - 1), Fraction(2**34 - 1)])
def test_kernel_gives_the_same_samples_as_the_plain_version(scale: Fraction, signed: bool) -> None:
    for seed in range(3):
        words = WordsOf(seed, largest_read=97)  # samples are cut by the end of a read
        draw = noise.discrete_laplace if signed else noise.geometric_noise
        samples = draw(scale, 300, random_words=words)
        replayed = iter(words.given)
        expected = [noise_from_words(replayed, scale, signed) for _ in range(300)]
        assert samples.tolist() == expected


@given(
    st.integers(0, 2**34 - 1),
    st.integers(1, 2**34 - 1),
    st.integers(0, 2**48),
    st.integers(1, 2**42 - 1),
)
def test_the_quotient_does_not_overflow(u: int, t: int, v: int, s: int) -> None:
    u %= t
    if (u + t * v) // s < 2**62:
        found = private_noise.quotient(np.int64(u), np.int64(t), np.int64(v), np.int64(s))
        assert found == (u + t * v) // s


def test_a_run_ends_where_the_size_no_longer_matters() -> None:
    """Without an end, a run of 2^29 at this scale would give a negative size: 64 bits overflow."""
    t = 2**34 - 1
    run = int(private_noise.longest_run(np.int64(t), np.int64(1)))
    success = [2, 1]  # the coin of probability 1/2 is 0, that of probability 1/3 is not
    words = np.array([0, 0, *success * run, 1], np.int64)  # size 0 within t, its coin; the sign
    out = np.zeros(1, np.int64)
    filled, used = private_noise.fill_noise(words, t, 1, True, out, 0)
    assert (filled, used, out[0]) == (1, len(words), -t * run)
    assert t * run >= 2 * noise.ANSWER_LIMIT


@given(st.integers(2, 2**62), st.integers(0, 2**63 - 1))
def test_words_beyond_the_last_complete_round_are_rejected(size: int, word: int) -> None:
    words = np.array([word, 0], np.int64)
    value, at = private_noise.uniform_below(words, np.int64(0), np.int64(size))
    accepted = word < 2**63 // size * size
    assert (value, at) == ((word % size, 1) if accepted else (0, 2))


@pytest.mark.parametrize("scale", SCALES[:-1])
def test_discrete_laplace_follows_its_law(scale: Fraction) -> None:
    samples = noise.discrete_laplace(scale, 200_000)
    reach = math.ceil(8 * scale) + 2
    law = lambda z: discrete_laplace_probability(z, float(scale))  # noqa: E731
    assert fit_to_law(samples, law, -reach, reach) > LUCK


@pytest.mark.parametrize("scale", SCALES[:-1])
def test_geometric_noise_follows_its_law(scale: Fraction) -> None:
    samples = noise.geometric_noise(scale, 200_000)
    law = lambda z: geometric_probability(z, float(scale))  # noqa: E731
    assert fit_to_law(samples, law, 0, math.ceil(10 * scale) + 2) > LUCK


def test_the_check_of_the_law_notices_a_scale_that_is_five_percent_off() -> None:
    samples = noise.discrete_laplace(Fraction(20), 300_000)
    law = lambda z: discrete_laplace_probability(z, 21.0)  # noqa: E731
    assert fit_to_law(samples, law, -160, 160) < LUCK


def test_dropping_words_at_the_end_of_a_read_would_bias_the_law() -> None:
    """The mutant that forgets unused words makes long samples too rare, and is noticed."""

    def forgetful(count: int) -> np.ndarray:
        out, filled = np.empty(count, np.int64), 0
        while filled < count:
            words = noise.os_words(12)
            filled, _ = private_noise.fill_noise(words, 1, 1, True, out, filled)
        return out

    law = lambda z: discrete_laplace_probability(z, 1.0)  # noqa: E731
    assert fit_to_law(forgetful(50_000), law, -8, 8) < LUCK


@pytest.mark.parametrize("exponent", [Fraction(1, 40), Fraction(3, 7), Fraction(1), Fraction(9, 4)])
def test_scalar_samplers_follow_their_laws(exponent: Fraction) -> None:
    kept = np.array([noise.keep_with_probability_exp(exponent) for _ in range(8_000)], int)
    probability = math.exp(-exponent)
    assert fit_to_law(kept, lambda z: probability if z else 1 - probability, 0, 1) > LUCK
    samples = np.array([noise.geometric(exponent) for _ in range(8_000)])
    law = lambda z: geometric_probability(z, 1 / float(exponent))  # noqa: E731
    assert fit_to_law(samples, law, 0, math.ceil(8 / exponent) + 2) > LUCK


@pytest.mark.system_randomness
def test_opendp_has_the_same_law() -> None:
    """An independent implementation: OpenDP's discrete Laplace."""
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l1_distance(T=int)
    theirs = np.array(opendp.m.make_laplace(*space, scale=2.5)([0] * 100_000))
    ours = noise.discrete_laplace(Fraction(5, 2), 100_000)
    law = lambda z: discrete_laplace_probability(z, 2.5)  # noqa: E731
    for samples in (theirs, ours):
        assert fit_to_law(samples, law, -24, 24) > LUCK
    values = np.arange(-12, 13)
    a, b = ([int((x == z).sum()) for z in values] for x in (theirs, ours))
    spread = np.sqrt(np.add(a, b))
    assert np.all(np.abs(np.subtract(a, b)) <= 7 * spread)  # 25 values: 6e-11 by luck


def test_answers_are_cut_to_a_public_range() -> None:
    huge = np.array([2**50, -(2**50), 5], np.int64)
    assert noise.limit_answers(huge).tolist() == [2**40, -(2**40), 5]


def test_a_scale_with_too_many_digits_is_an_error() -> None:
    with pytest.raises(ValueError, match="too many digits"):
        noise.discrete_laplace(Fraction(2**34, 3), 1)


@pytest.mark.parametrize("epsilon", ["0.0001", "0.999999", "99.999999", "100"])
def test_every_epsilon_gives_scales_that_the_sampler_takes(epsilon: str) -> None:
    exact = budget.parse_epsilon(epsilon, allow_large_epsilon=True)
    shares = {share for each in budget.PURPOSES.values() for share in each.parts()}
    capped = {share for each in budget.PURPOSES.values() for share in each.capped_sums}
    for share in shares:
        for sensitivity in (1, 2, 20, 170) if share in capped else (1, 2):
            scale = sensitivity / (exact * share)
            assert scale.numerator < 2**34
            assert scale.denominator < 2**42
            # a run that is ended gives noise beyond the limit of an answer, whatever the count,
            # and the size still fits into 64 bits
            t, s = scale.numerator, scale.denominator
            longest = int(private_noise.longest_run(np.int64(t), np.int64(s)))
            assert t * longest // s >= 2 * noise.ANSWER_LIMIT
            assert (t - 1 + t * longest) // s < 2**62
            assert longest <= 2**48


PRIVATE_MODULES = [
    answers,
    budget,
    exact_counts,
    ladder,
    noise,
    private_counts,
    private_noise,
    public_rules,
    stream_partition,
]


@pytest.mark.parametrize("module", PRIVATE_MODULES, ids=lambda m: m.__name__.rsplit(".", 1)[-1])
def test_no_seeded_generator_in_anything_private(module) -> None:
    """No `random`, `numpy.random` or SciPy generator is named anywhere."""
    tree = ast.parse(inspect.getsource(module))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.name for alias in node.names}
            names.add(getattr(node, "module", None) or "")
    forbidden = {"random", "numpy.random", "Generator", "default_rng", "RandomState", "scipy.stats"}
    assert not names & forbidden


def test_noise_has_no_floating_point_numbers() -> None:
    """Neither the samplers nor the ladder contain a float, a true division or `math`."""
    for module in (noise, ladder, private_noise):
        tree = ast.parse(inspect.getsource(module))
        for node in ast.walk(tree):
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                # epsilon / 2 and sensitivity / epsilon are divisions of fractions
                assert ast.unparse(node) in ("epsilon / 2", "sensitivity / epsilon")
            assert not (isinstance(node, ast.Name) and node.id in ("float", "math"))


def test_every_random_bit_comes_from_the_operating_system(monkeypatch) -> None:
    """Without os.urandom, neither an array nor a single number can be drawn."""

    def broken(count: int) -> bytes:
        raise NotImplementedError

    monkeypatch.setattr("os.urandom", broken)
    with pytest.raises(NotImplementedError):
        noise.discrete_laplace(Fraction(1), 1)
    monkeypatch.setattr("random._urandom", broken)  # what `secrets` reads
    with pytest.raises(NotImplementedError):
        noise.geometric(Fraction(1, 2))


def test_the_same_words_give_the_same_noise() -> None:
    """Nothing but the words enters the noise."""
    first, second = (
        noise.discrete_laplace(Fraction(3), 50, random_words=WordsOf(seed=1)) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
