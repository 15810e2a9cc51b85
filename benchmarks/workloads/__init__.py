"""All workloads, by topic, in the order of the report."""

from . import autodiff, compiled, eager, pairwise, random, start, transformer

WORKLOADS = [
    *start.WORKLOADS,
    *eager.WORKLOADS,
    *compiled.WORKLOADS,
    *autodiff.WORKLOADS,
    *transformer.WORKLOADS,
    *random.WORKLOADS,
    *pairwise.WORKLOADS,
]
