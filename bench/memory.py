"""Memory of split search and growing beyond the input, in units of the input's size; goal: at most 3.

Each case runs in a fresh process, which reads the data from a file, calls once on a small piece (so that modules and
tables are there), and then compares the largest resident size during the call with the size before it.  What the tree
itself takes is part of it.

    python bench/memory.py [NAME ...]

prints a table and exits with 1 where the goal is missed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from tree_data import binary, continuous, integers, sparse

GOAL = 3.0

CASES = {
    # name: (data, call, options)
    "split": (lambda: continuous(1_000_000, 10, 2), "best_split", {}),
    "split-10-classes": (lambda: continuous(500_000, 20, 10), "best_split", {}),
    "split-hypergeometric": (lambda: continuous(500_000, 20, 2), "best_split", {"criterion": "hypergeometric"}),
    "split-zeros": (lambda: sparse(500_000, 20), "best_split", {}),
    "split-nominal": (lambda: integers(500_000, 20, 2), "best_split", {"feature_kinds": "nominal"}),
    "split-missing": (lambda: with_gaps(500_000, 20), "best_split", {"missing": "best"}),
    "tree": (lambda: continuous(500_000, 10, 2), "grow_tree", {}),
    "tree-10-classes": (lambda: continuous(200_000, 20, 10), "grow_tree", {}),
    "tree-hypergeometric": (lambda: continuous(200_000, 20, 2), "grow_tree", {"criterion": "hypergeometric"}),
    "tree-best-first": (lambda: continuous(500_000, 10, 2), "grow_tree", {"max_leaf_nodes": 500}),
    "tree-two-threads": (lambda: continuous(500_000, 10, 2), "grow_tree", {"n_jobs": 2}),
    "tree-missing": (lambda: with_gaps(200_000, 10), "grow_tree", {"missing": "best", "max_depth": 8}),
    "tree-integers": (lambda: integers(500_000, 20, 2), "grow_tree", {}),
    "tree-integers-10-classes": (lambda: integers(200_000, 20, 10), "grow_tree", {}),
    "tree-binary": (lambda: binary(500_000, 50, 2), "grow_tree", {}),
    "tree-binary-10-classes": (lambda: binary(200_000, 50, 10), "grow_tree", {}),
    "tree-binary-two-threads": (lambda: binary(500_000, 50, 2), "grow_tree", {"n_jobs": 2}),
    "tree-subset": (lambda: integers(200_000, 20, 2), "grow_tree", {"feature_kinds": "nominal", "nominal": "subset"}),
    "tree-multiway": (lambda: integers(200_000, 20, 2), "grow_tree", {"feature_kinds": "multiway", "tree": "multiway"}),
}


def with_gaps(m, d):
    """Normal features with a twentieth of the values missing."""
    X, y = continuous(m, d, 2)
    X[np.random.default_rng(1).random(X.shape) < 0.05] = np.nan
    return X, y


CHILD = """
import sys
import numpy as np
import vcdim_core.growing, vcdim_core.split
from vcdim_core.growing import grow_tree
from vcdim_core.split import best_split

def status(key):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024

call, options = {"best_split": best_split, "grow_tree": grow_tree}[sys.argv[1]], eval(sys.argv[2])
X, y = np.load(sys.argv[3]), np.load(sys.argv[4])
call(X[:5000].copy(order="K"), y[:5000], **options)
with open("/proc/self/clear_refs", "w") as out:
    out.write("5")  # the peak starts from here
before = status("VmRSS")
call(X, y, **options)
print((status("VmHWM") - before) / (X.nbytes + y.nbytes))
"""


def measure(name, dtype, order):
    """Peak beyond the input over the size of X and y."""
    make, call, options = CASES[name]
    X, y = make()
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / "X.npy"), str(Path(folder) / "y.npy")]
        np.save(paths[0], np.array(X, dtype=dtype, order=order))
        np.save(paths[1], y)
        command = [sys.executable, "-c", CHILD, call, repr(options), *paths]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main(names):
    """Print one row per case; 1 where the goal is missed."""
    missed = False
    print(f"{'peak beyond the input / input':30} {'f32 C':>6} {'f32 F':>6} {'f64 C':>6} {'f64 F':>6}   goal {GOAL:g}")
    for name in names or CASES:
        found = [measure(name, dtype, order) for dtype in (np.float32, np.float64) for order in "CF"]
        missed |= max(found) > GOAL
        print(f"{name:30} " + " ".join(f"{ratio:6.2f}" for ratio in found), flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
