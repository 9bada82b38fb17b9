"""What the tests of the atlas show: samples that are shattered on real features, and texts that are up to no good."""

from __future__ import annotations

from typing import Any

import atlas_oracle as oracle

from vcdim_core import Features, SearchStats, Structure, VCResult, search_vc
from vcdim_core.atlas import Atlas, Cell, Witness
from vcdim_core.bounds import Bound
from vcdim_core.structures import as_structure

HOSTILE = "</script><script>pwned = 1</script><img src=x onerror='pwned=1'>&amp;\u2028\"'"

# Shattered on real features, found by the plain search of atlas_oracle (the last one in two minutes).
SAMPLES: dict[tuple[str, int], Any] = {
    ("(..)", 1): [(0,), (1,)],
    ("((..).)", 1): [(0,), (1,), (2,)],
    ("(..)", 2): [(0, 1), (1, 2), (2, 0)],
    ("((..).)", 2): [(0, 4), (1, 1), (2, 3), (3, 0), (4, 2)],
    ("((..)(..))", 2): [(0, 5), (1, 1), (2, 7), (3, 4), (4, 3), (5, 0), (6, 6), (7, 2)],
}


def plain_search(structure: object, *, features: Features, **options: Any) -> VCResult:
    """The search of the package on binary features, samples that are known to be shattered on real ones."""
    if features.is_binary_only:
        return search_vc(structure, features=features, **options)
    points = SAMPLES.get((str(structure), features.real))
    if points is None:
        raise ValueError("expected a structure with a known sample")
    m = len(points)
    return VCResult(as_structure(structure), features, "free", m, m, tuple(points), SearchStats(tested=1))


def plain_realize(structure: Structure, points: Any, labels: Any, *, features: Features) -> Any:
    """A tree by the plain search."""
    found = oracle.realise(oracle.parse(str(structure)), points, tuple(range(len(points))), labels)
    return found and oracle.as_tree(found, features.n_features)


def other_kinds_atlas() -> Atlas:
    """Tests of the other kinds: one child per category, one category against the rest, a set of categories."""
    structure, features = Structure("((..)(..).)"), Features(nominal=(3, 4), multiway=(3,))
    tree = (("each", 2, (0, 1, 2)), ("=", 0, 2), None, None, ("in", 1, (0, 3)), None, None, None)
    points = ((2, 0, 0), (1, 0, 0), (0, 3, 1), (0, 1, 1), (0, 0, 2))
    bounds = (Bound("lower", "search", 5, "sample"), Bound("upper", "points", 36, "number of points"))
    cell = Cell(structure, features, 5, 36, "sample", "number of points", bounds, Witness(points, (tree,)))
    return Atlas((structure,), (features,), (cell,), None)


def hostile_atlas() -> Atlas:
    """Every text that a page can show is hostile."""
    stump, features = Structure("(..)"), Features(binary=1)
    bounds = (Bound("lower", HOSTILE, 2, HOSTILE), Bound("upper", HOSTILE, 2, HOSTILE))
    witness = Witness(((0,), (1,)), ((("<=", 0, 0.5), None, None),), HOSTILE)
    cell = Cell(stump, features, 2, 2, HOSTILE, HOSTILE, bounds, witness, HOSTILE, HOSTILE)
    return Atlas((stump,), (features,), (cell,), 1.0, HOSTILE)
