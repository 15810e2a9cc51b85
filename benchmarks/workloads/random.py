"""Random numbers."""

from workload import Repeated


def ten_million_normals(ns):
    return {"random": ns.random, "key": ns.random.PRNGKey(0)}


WORKLOADS = [
    Repeated(
        "random.normal(key, (10_000_000,))",
        0.6,
        ten_million_normals,
        "random.normal(key, (10_000_000,))",
        result="result[::9973]",
        rounds=7,
    )
]
