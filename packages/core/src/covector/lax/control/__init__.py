"""Control flow: programs that hold programs.

`cond.py` has branches (`cond`, `switch`, `platform_dependent`), `loops.py` loops that run until a
condition fails (`while_loop`, `fori_loop`), `scan.py` loops of known length (`scan`, `map`),
`associative_scan.py` parallel prefix sums. Each of the three primitives has the programs of its
branches or bodies as params, and derives from them by the same memoized functions as any program
(`jvp`, `linearize`, `transpose`, `batch`). `bodies.py` makes these programs from users' functions;
`programs.py` rewires them and writes their regions; `residuals.py` says what a scan keeps for its
derivative, and `lanes.py` how the members of a batch go ways of their own.
"""
