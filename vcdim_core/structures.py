"""Structures: the shapes of decision trees, and nothing else.

A structure is a leaf, or a node with two or more children that are structures. It is spelled with three characters:
``.`` is a leaf and ``(`` children ``)`` a node, so ``((..).)`` is a node whose children are a stump and a leaf. The
spelling is also the representation: a :class:`Structure` holds that one string. Two structures are equal when their
spellings are, every question is answered by a scan from left to right, and nothing recurses: a comb of a hundred
thousand nodes is as good as a stump.

Structures are ordered: the children of ``((..).)`` and ``(.(..))`` come in a different order, so the two differ. For
sameness up to swapping children compare :meth:`Structure.canonical`.

Order of structures: ``s < t`` compares the number of nodes, then the height, then the spelling as text (``(`` comes
before ``)``, which comes before ``.``). The canonical form has the children of every node in decreasing order.
"""

from __future__ import annotations

from collections import Counter
from functools import total_ordering
from itertools import pairwise
from typing import Any, NoReturn, final

import numpy as np

from ._drawing import draw_svg, draw_text
from ._spelling import checked_spelling, codes, depths, fold, postorder, spell
from ._validation import check_int

__all__ = [
    "LEAF", "STUMP", "Structure", "as_structure", "comb", "full", "join", "structures", "structures_of_height",
]  # fmt: skip

_MAX_FULL_HEIGHT = 25  # spelled with 3 * 2**25 characters, 100 MB
_MAX_LISTED_NODES = 22  # 3.6 million structures
_MAX_LISTED_HEIGHT = 6  # 2.6 million structures; height 7 has 3.4e12


@final
@total_ordering
class Structure:
    """A structure: which nodes a decision tree has, without tests and labels.

    Parameters
    ----------
    text : str
        The spelling: ``.`` is a leaf, ``(`` two or more children ``)`` a node; whitespace is ignored.

    Raises
    ------
    TypeError
        If ``text`` is not a str.
    ValueError
        If ``text`` does not spell a structure; the message points at the offending character.

    Notes
    -----
    Immutable, hashable, totally ordered (number of nodes, then height, then spelling), and pickled as its spelling.
    Cost: every property and method is linear in the number of nodes unless it says otherwise.

    Examples
    --------
    >>> Structure(".").n_nodes
    0
    >>> stump = Structure("(..)")
    >>> stump.n_nodes, stump.n_leaves, stump.height
    (1, 2, 1)
    >>> s = Structure("( (..) . )")
    >>> s
    Structure('((..).)')
    >>> s.children
    (Structure('(..)'), Structure('.'))
    >>> s == Structure("(.(..))"), s.canonical() == Structure("(.(..))").canonical()
    (False, True)
    """

    __slots__ = ("_children", "_height", "_n_leaves", "_n_nodes", "_spelling")

    _spelling: str
    _n_nodes: int
    _n_leaves: int
    _height: int | None  # None until asked for
    _children: tuple[Structure, ...] | None  # None until asked for

    def __new__(cls, text: str) -> Structure:
        return _from_spelling(checked_spelling(text))

    @classmethod
    def parse(cls, text: str) -> Structure:
        """Read a structure from its spelling; the same as ``Structure(text)``.

        Examples
        --------
        >>> Structure.parse("((..)(..))").height
        2
        >>> Structure.parse("((..)x)")
        Traceback (most recent call last):
            ...
        ValueError: expected '.', '(' or ')', got 'x' at position 5
            ((..)x)
                 ^
        """
        return cls(text)

    # Immutable value

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Structure is immutable, got an assignment to {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Structure is immutable, got a deletion of {name!r}")

    def __copy__(self) -> Structure:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Structure:
        return self

    def __reduce__(self) -> tuple[type[Structure], tuple[str]]:
        return Structure, (self._spelling,)

    def __hash__(self) -> int:
        return hash(self._spelling)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return NotImplemented
        return self._spelling == other._spelling

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return NotImplemented
        if self._n_nodes != other._n_nodes:
            return self._n_nodes < other._n_nodes
        return (self.height, self._spelling) < (other.height, other._spelling)

    def __repr__(self) -> str:
        return f"Structure({self._spelling!r})"

    def __str__(self) -> str:
        return self._spelling

    # Measures

    @property
    def n_nodes(self) -> int:
        """Number of nodes N (internal nodes: a leaf is not a node)."""
        return self._n_nodes

    @property
    def n_leaves(self) -> int:
        """Number of leaves L; N + 1 when binary."""
        return self._n_leaves

    @property
    def height(self) -> int:
        """Largest number of nodes on a path from the root to a leaf: 0 for a leaf, 1 for a stump."""
        if self._height is None:
            object.__setattr__(self, "_height", int(depths(self._spelling).max()))
        assert self._height is not None
        return self._height

    @property
    def is_leaf(self) -> bool:
        """Whether this is the leaf."""
        return self._n_nodes == 0

    @property
    def is_binary(self) -> bool:
        """Whether every node has two children; true for a leaf."""
        # Every node has at least 2 children, so L - 1 = sum of (arity - 1) >= N, with equality only if all have 2.
        return self._n_leaves == self._n_nodes + 1

    @property
    def arities(self) -> frozenset[int]:
        """The numbers of children that occur: empty for a leaf, {2} if binary.

        Examples
        --------
        >>> sorted(Structure("((..)..)").arities)
        [2, 3]
        """
        if self.is_binary:
            return frozenset() if self.is_leaf else frozenset({2})
        return frozenset(postorder(self._spelling)) - {0}

    @property
    def max_arity(self) -> int:
        """The largest number of children of a node: 0 for a leaf, 2 if binary."""
        return max(self.arities, default=0)

    @property
    def rank(self) -> int:
        """Ehrenfeucht-Haussler rank: the height of the largest full structure that fits inside.

        Raises
        ------
        ValueError
            If a node has more than two children.

        Notes
        -----
        A leaf has rank 0. A node whose children both have rank r has rank r + 1; otherwise the larger of the two.

        References
        ----------
        A. Ehrenfeucht and D. Haussler, Learning decision trees from random examples, Information and Computation
        82 (1989), 231-246, doi:10.1016/0890-5401(89)90001-1.

        Examples
        --------
        >>> LEAF.rank, comb(9).rank, full(4).rank
        (0, 1, 4)
        """
        if not self.is_binary:
            raise ValueError(f"expected a binary structure, got a node with {self.max_arity} children")
        return fold(self._spelling, 0, lambda ranks: max(ranks) + (ranks[0] == ranks[1]))

    # Parts

    @property
    def children(self) -> tuple[Structure, ...]:
        """The children of the root from left to right; empty for a leaf.

        Notes
        -----
        Made when first asked for, and kept. Each child holds its own spelling, so following a path through a
        structure of n nodes and height h takes O(n h) characters; :meth:`table` gives all substructures in O(n).
        """
        if self._children is None:
            # The depth is 1 just after the opening '(' and just after each child, nowhere else.
            ends = np.flatnonzero(depths(self._spelling) == 1).tolist()
            parts = (self._spelling[before + 1 : end + 1] for before, end in pairwise(ends))
            object.__setattr__(self, "_children", tuple(_from_spelling(part) for part in parts))
        assert self._children is not None
        return self._children

    def table(self, unordered: bool = True) -> tuple[tuple[int, ...], ...]:
        """List the distinct substructures as a table of small integers, for kernels.

        Parameters
        ----------
        unordered : bool, default=True
            Give substructures that are equal up to swapping children the same entry, with the ids of the children in
            increasing order. Otherwise only equal substructures share an entry, and the ids keep the order of the
            children.

        Returns
        -------
        tuple of tuple of int
            Entry 0 is the leaf, ``()``. Every later entry holds the ids of its children, all of them smaller than its
            own. Entries are distinct, in order of first completion, and the root comes last.

        Examples
        --------
        >>> LEAF.table()
        ((),)
        >>> STUMP.table()
        ((), (0, 0))
        >>> Structure("(((..).)(.(..)))").table()
        ((), (0, 0), (0, 1), (2, 2))
        >>> Structure("(((..).)(.(..)))").table(unordered=False)
        ((), (0, 0), (1, 0), (0, 1), (2, 3))
        """
        ids: dict[tuple[int, ...], int] = {(): 0}

        def add(children: list[int]) -> int:
            return ids.setdefault(tuple(sorted(children) if unordered else children), len(ids))

        fold(self._spelling, 0, add)
        return tuple(ids)

    def canonical(self) -> Structure:
        """Put the children of every node in decreasing order.

        Returns
        -------
        Structure
            The canonical form: the children of every node are canonical and in decreasing order (more nodes first,
            then taller first, then the later spelling first). Two structures have the same canonical form if and
            only if they are equal up to swapping children.

        Notes
        -----
        Substructures are numbered bottom-up, equal ones alike, and a spelling is made only to separate siblings with
        the same number of nodes and the same height. Those have at most half of their parent's nodes, so every
        character is spelled at most log2(n) times before the final spelling: O(n log n) in all.

        Examples
        --------
        >>> LEAF.canonical()
        Structure('.')
        >>> Structure("(.(..))").canonical()
        Structure('((..).)')
        >>> Structure("((.(..))((..)(.(..))))").canonical()
        Structure('((((..).)(..))((..).))')
        """
        ids: dict[tuple[int, ...], int] = {(): 0}  # sorted ids of the children -> id
        children: list[tuple[int, ...]] = [()]  # id -> ids of the children, in canonical order
        sizes: list[tuple[int, int]] = [(0, 0)]  # id -> number of nodes, height

        def add(parts: list[int]) -> int:
            key = tuple(sorted(parts))
            if key not in ids:
                ids[key] = len(children)
                children.append(in_order(key))
                sizes.append((1 + sum(sizes[part][0] for part in key), 1 + max(sizes[part][1] for part in key)))
            return ids[key]

        def in_order(key: tuple[int, ...]) -> tuple[int, ...]:
            rivals = Counter(sizes[part] for part in set(key))
            ranks = {part: (sizes[part], spelled(part) if rivals[sizes[part]] > 1 else "") for part in set(key)}
            return tuple(sorted(key, key=ranks.__getitem__, reverse=True))

        def spelled(root: int) -> str:
            return spell(root, children.__getitem__)

        spelling = spelled(fold(self._spelling, 0, add))
        return self if spelling == self._spelling else _from_spelling(spelling)

    def grow_leaf(self, index: int) -> Structure:
        """Replace one leaf by a stump.

        Parameters
        ----------
        index : int
            Which leaf, from left to right, 0 <= index < n_leaves.

        Examples
        --------
        >>> LEAF.grow_leaf(0)
        Structure('(..)')
        >>> Structure("((..).)").grow_leaf(2)
        Structure('((..)(..))')
        """
        index = check_int("index", index, 0, self._n_leaves - 1)
        at = int(np.flatnonzero(codes(self._spelling) == ord("."))[index])
        return _from_spelling(f"{self._spelling[:at]}(..){self._spelling[at + 1 :]}")

    # Drawings

    def draw(self, *, ascii: bool = False, max_depth: int | None = 30) -> str:
        """Draw the structure as text, one line for each node and leaf.

        Parameters
        ----------
        ascii : bool, default=False
            Use ASCII characters only.
        max_depth : int or None, default=30
            Nodes deeper than this (the root has depth 0) are left out, and the line above them says how many.
            None draws everything, which takes O(n h) characters.

        Returns
        -------
        str
            Lines without a newline at the end.

        Examples
        --------
        >>> print(LEAF.draw())
        ○
        >>> print(Structure("((..)(.(..)))").draw())
        ●
        ├─ ●
        │  ├─ ○
        │  └─ ○
        └─ ●
           ├─ ○
           └─ ●
              ├─ ○
              └─ ○
        >>> print(comb(9).draw(ascii=True, max_depth=2))
        *
        |- *
        |  |- * ... 6 more nodes below
        |  `- o
        `- o
        """
        if max_depth is not None:
            max_depth = check_int("max_depth", max_depth, 0)
        return draw_text(self._spelling, ascii, max_depth)

    def _repr_svg_(self) -> str:
        """Draw the structure in a notebook."""
        return draw_svg(self._spelling)


def _from_spelling(spelling: str) -> Structure:
    """Return the structure with this spelling, which is known to be right."""
    structure = object.__new__(Structure)
    fill = object.__setattr__
    fill(structure, "_spelling", spelling)
    fill(structure, "_n_nodes", spelling.count("("))
    fill(structure, "_n_leaves", spelling.count("."))
    fill(structure, "_height", None)
    fill(structure, "_children", None)
    return structure


# Making structures

LEAF = Structure(".")
"""The structure without nodes."""

STUMP = Structure("(..)")
"""One node with two leaves."""


def join(*children: object) -> Structure:
    """Make a node with these children.

    Parameters
    ----------
    *children : Structure or structure-like
        Two or more children, from left to right: anything that :func:`as_structure` takes.

    Returns
    -------
    Structure

    Raises
    ------
    ValueError
        If there are fewer than two children.

    Examples
    --------
    >>> join(LEAF, LEAF) == STUMP
    True
    >>> join(STUMP, LEAF, STUMP)
    Structure('((..).(..))')
    """
    if len(children) < 2:
        raise ValueError(f"expected at least 2 children, got {len(children)}")
    return _from_spelling(f"({''.join(as_structure(child)._spelling for child in children)})")


def full(height: int) -> Structure:
    """Make the full binary structure: every leaf at the same depth.

    Parameters
    ----------
    height : int
        From 0 (a leaf) to 25; there are 2**height - 1 nodes.

    Examples
    --------
    >>> full(0), full(1), full(2)
    (Structure('.'), Structure('(..)'), Structure('((..)(..))'))
    """
    spelling = "."
    for _ in range(check_int("height", height, 0, _MAX_FULL_HEIGHT)):
        spelling = f"({spelling}{spelling})"
    return _from_spelling(spelling)


def comb(n_nodes: int) -> Structure:
    """Make the comb (degenerate structure): every node but the last has one node and one leaf below it.

    Parameters
    ----------
    n_nodes : int
        Number of nodes, at least 0.

    Examples
    --------
    >>> comb(0), comb(1), comb(3)
    (Structure('.'), Structure('(..)'), Structure('(((..).).)'))
    """
    n_nodes = check_int("n_nodes", n_nodes, 0)
    return _from_spelling(f"{'(' * n_nodes}.{'.)' * n_nodes}")


# Listing structures

_Listed = tuple[int, int, str]  # number of nodes, height, spelling: tuples compare as structures do


def _listed_node(left: _Listed, right: _Listed) -> _Listed:
    """Return the node with these children, left >= right."""
    return left[0] + right[0] + 1, max(left[1], right[1]) + 1, f"({left[2]}{right[2]})"


def structures(n_nodes: int) -> list[Structure]:
    """List every unordered binary structure with a given number of nodes.

    Parameters
    ----------
    n_nodes : int
        From 0 to 22.

    Returns
    -------
    list of Structure
        One structure, in canonical form, for each class up to swapping children; in increasing order, so lower
        structures come first and those of the same height are in the order of their spellings.

    Notes
    -----
    There are as many as the Wedderburn-Etherington number of n_nodes + 1 leaves, OEIS A001190: 1, 1, 1, 2, 3, 6, 11,
    23, ... for 0, 1, 2, ... nodes, growing by a factor of about 2.48 with each node. A canonical structure is a pair
    of canonical children in decreasing order, so each comes up once.

    Examples
    --------
    >>> structures(0)
    [Structure('.')]
    >>> [str(s) for s in structures(4)]
    ['(((..)(..)).)', '(((..).)(..))', '((((..).).).)']
    >>> [len(structures(n)) for n in range(9)]
    [1, 1, 1, 2, 3, 6, 11, 23, 46]
    """
    n_nodes = check_int("n_nodes", n_nodes, 0, _MAX_LISTED_NODES)
    by_nodes: list[list[_Listed]] = [[(0, 0, ".")]]
    for total in range(1, n_nodes + 1):
        found: list[_Listed] = []
        for small in range((total + 1) // 2):
            large = total - 1 - small
            for i, left in enumerate(by_nodes[large]):
                rights = by_nodes[small][: i + 1] if small == large else by_nodes[small]
                found.extend(_listed_node(left, right) for right in rights)
        by_nodes.append(sorted(found))
    return [_from_spelling(spelling) for _, _, spelling in by_nodes[n_nodes]]


def structures_of_height(height: int) -> list[Structure]:
    """List every unordered binary structure with at least one node and at most a given height.

    Parameters
    ----------
    height : int
        From 0 to 6.

    Returns
    -------
    list of Structure
        One structure, in canonical form, for each class up to swapping children; in increasing order, so the number
        of nodes never falls along the list.

    Notes
    -----
    With the leaf there are t(h) = 1 + t(h-1) (t(h-1) + 1) / 2 of them, t(0) = 1 (OEIS A006894, shifted).

    Examples
    --------
    >>> structures_of_height(0)
    []
    >>> [str(s) for s in structures_of_height(2)]
    ['(..)', '((..).)', '((..)(..))']
    >>> [len(structures_of_height(h)) for h in range(6)]
    [0, 1, 3, 10, 66, 2278]
    """
    height = check_int("height", height, 0, _MAX_LISTED_HEIGHT)
    leaf: _Listed = (0, 0, ".")
    found = [leaf]
    for _ in range(height):
        nodes = [_listed_node(left, right) for i, left in enumerate(found) for right in found[: i + 1]]
        found = [leaf, *sorted(nodes)]
    return [_from_spelling(spelling) for _, _, spelling in found[1:]]


# Reading structures from other objects


def as_structure(x: object) -> Structure:
    """Return the structure that ``x`` is, spells or has.

    Parameters
    ----------
    x : Structure, str, tuple, list or object
        A structure; its spelling; nested tuples or lists, where a leaf is ``()`` and any part may be a Structure; an
        object with an attribute ``structure`` that is a Structure; or a fitted scikit-learn tree: an estimator with an
        attribute ``tree_``, or that attribute, read through ``children_left`` and ``children_right``.

    Returns
    -------
    Structure

    Raises
    ------
    TypeError
        If ``x`` is none of these.
    ValueError
        If ``x`` is one of these but does not describe a structure.

    Notes
    -----
    A scikit-learn node sends x <= threshold to its left child, so orientation fixed reads it as it is.

    Examples
    --------
    >>> as_structure(())
    Structure('.')
    >>> as_structure("(..)")
    Structure('(..)')
    >>> as_structure([[(), ()], ()])
    Structure('((..).)')
    """
    if isinstance(x, Structure):
        return x
    if isinstance(x, str):
        return Structure(x)
    if isinstance(x, (tuple, list)):
        return _from_nested(x)
    own = getattr(x, "structure", None)
    if isinstance(own, Structure):
        return own
    tree = getattr(x, "tree_", x)
    left, right = getattr(tree, "children_left", None), getattr(tree, "children_right", None)
    if left is None or right is None or isinstance(x, type):
        accepted = "a Structure, a str, nested tuples or lists, a fitted scikit-learn tree or an object with .structure"
        raise TypeError(f"expected {accepted}, got {type(x).__name__}")
    return _from_arrays(left, right)


def _from_nested(x: tuple[object, ...] | list[object]) -> Structure:
    """Return the structure of nested tuples or lists."""
    out: list[str] = []
    inside: set[int] = set()  # ids of the open parts: a list may contain itself
    pending: list[tuple[object, bool]] = [(x, False)]  # part, whether its children are done
    while pending:
        part, is_done = pending.pop()
        if is_done:
            inside.discard(id(part))
            out.append(")")
        elif isinstance(part, Structure):
            out.append(part._spelling)
        elif not isinstance(part, (tuple, list)):
            raise TypeError(f"expected nested tuples or lists with () for a leaf, got {type(part).__name__} inside")
        elif not part:
            out.append(".")
        elif len(part) == 1:
            raise ValueError("expected at least 2 children for every node, got a node with 1")
        elif id(part) in inside:
            raise ValueError("expected a finite structure, got a list that contains itself")
        else:
            inside.add(id(part))
            out.append("(")
            pending.append((part, True))
            pending.extend((child, False) for child in reversed(part))
    return _from_spelling("".join(out))


def _from_arrays(children_left: Any, children_right: Any) -> Structure:
    """Return the structure of the tree with root 0 whose leaves have the child -1 on both sides."""
    left, right = np.asarray(children_left), np.asarray(children_right)
    n = left.size
    if left.ndim != 1 or left.shape != right.shape or n == 0 or left.dtype.kind != "i" or right.dtype.kind != "i":
        raise ValueError("expected children_left and children_right to be integer arrays of one length >= 1")
    parents = left != -1
    below = np.concatenate([left[parents], right[parents]])
    # No node is a child twice and the root is nobody's child, so the walk from the root meets no node twice and ends.
    if (
        ((right != -1) != parents).any()
        or ((below < 1) | (below >= n)).any()
        or np.unique(below).size != below.size
    ):
        raise ValueError("expected children_left and children_right to describe a binary tree with root 0")
    lefts, rights = left.tolist(), right.tolist()
    return _from_spelling(spell(0, lambda node: () if lefts[node] == -1 else (lefts[node], rights[node])))
