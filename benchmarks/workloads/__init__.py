"""All workloads, by topic, in the order of the report."""

from . import autodiff, compiled, control, eager, operators, pairwise, random, start, transformer

WORKLOADS = [
    *start.WORKLOADS,
    *eager.WORKLOADS,
    *compiled.WORKLOADS,
    *autodiff.WORKLOADS,
    *control.WORKLOADS,
    *operators.WORKLOADS,
    *transformer.WORKLOADS,
    *random.WORKLOADS,
    *pairwise.WORKLOADS,
]
