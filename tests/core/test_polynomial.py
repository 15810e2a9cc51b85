"""The value of a polynomial, against the oracle and under every transformation."""

import covector
import numpy as np
import pytest
from core import primitive_checks as checks
from covector import lax
from oracle import Case

X = np.float32([[0.5, -2.0, 3.0], [1.0, 0.0, -0.0]])
VALUE = "lax.polynomial(x, coeffs, **options)"


def test_values(oracle):
    calls = [
        (2.0, [1.0, 2.0, 3.0], {}),
        (2, [1.0, 2.0], {}),
        (X, [1, 2, 3], {}),
        (X, np.float32([1, 2, 3]), {}),
        (X, (1.5,), {}),
        (X, [], {}),
        (2.0, [], {}),
        (X, [np.float32(1), X, 2.0], {}),
        (X[:, :1], [X[:1], 1.0], {}),
        (X.astype(np.float16), [np.float32(1), 2.0], {}),
        (X.astype(np.int32), [1.7, 2.0], {}),
        (X.astype(np.complex64), [1j, 2.0], {}),
        (np.float32(1.25), [float(i) for i in range(40)], {}),
        (X, np.ones((40,), np.float32), {"unroll": 4}),
        (X, [*[1.0] * 5, X], {"unroll": 0}),
        (X, [1.0, 2.0, 3.0], {"unroll": True}),
    ]
    oracle.compare_many(
        [Case(VALUE, {"x": x, "coeffs": c, "options": options}) for x, c, options in calls]
    )


def test_wide(oracle):
    calls = [(X, np.ones(3)), (X.astype(float), [1.0, np.float32(2)]), (1.5, [1.0, 2.0])]
    cases = [Case(VALUE, {"x": x, "coeffs": c, "options": {}}) for x, c in calls]
    oracle.using(x64=True).compare_many(cases)


@pytest.mark.parametrize("options", [{}, {"unroll": 1}])
def test_transformations(options):
    a, b = np.array(0.5), np.array([[1.0], [-2.0]])
    checks.check_all(
        covector.jit(lambda x, a, b: lax.polynomial(x, [a, b, 3.0], **options)),
        X.astype(float),
        a,
        b,
        order=1 if options else 2,
        rtol=1e-4,
    )


def test_zero_coefficient_tangents_annihilate():
    """A coefficient that does not vary adds nothing, even where a power of x is not finite."""
    tangent = covector.jvp(
        lambda a, b: lax.polynomial(np.float32(np.inf), [a, b]), (1.0, 0.0), (1.0, 0.0)
    )[1]
    assert float(tangent) == 1.0


def test_transpose():
    """It is linear in its coefficients."""
    ct = covector.linear_transpose(lambda c: lax.polynomial(3.0, [c, 0.0, c]), 2.0)(1.0)
    assert float(ct[0]) == 10.0


@pytest.mark.parametrize(
    ("x", "coeffs", "options"),
    [
        (X, np.ones((3, 6), np.float32), {}),
        (X, [X[:, :2]], {}),
        (X, 3.0, {}),
        (X, [1j], {}),
        ("x", [1.0], {}),
        (X > 0, [True, False], {}),
        (X, [1.0, 2.0, 3.0], {"unroll": -1}),
    ],
)
def test_errors(oracle, x, coeffs, options):
    oracle.compare_error(VALUE, x=x, coeffs=coeffs, options=options)
