"""All workloads, by topic, in the order of the report."""

from . import (
    autodiff,
    compiled,
    control,
    dispatch,
    eager,
    linalg,
    numpy_functions,
    operators,
    pairwise,
    random,
    start,
    transformer,
)

WORKLOADS = [
    *start.WORKLOADS,
    *eager.WORKLOADS,
    *dispatch.WORKLOADS,
    *compiled.WORKLOADS,
    *autodiff.WORKLOADS,
    *control.WORKLOADS,
    *linalg.WORKLOADS,
    *operators.WORKLOADS,
    *transformer.WORKLOADS,
    *random.WORKLOADS,
    *pairwise.WORKLOADS,
    *numpy_functions.WORKLOADS,
]
