"""The rival: the recursion of Leboeuf et al. (2020), Theorem 9 and appendix D, in plain memoised Python with integers.

Values are kept for each (structure, c, m); structures are numbered, so equal ones share. The VC bound tries m one by
one, as printed.
"""

from __future__ import annotations

from math import comb, factorial
from typing import Any

Tree = tuple[Any, ...]


def nested(text: str) -> Tree:
    """Return the nested tuples of a spelling, children sorted."""
    stack: list[list[Tree]] = [[]]
    for character in text:
        if character == "(":
            stack.append([])
        elif character == ")":
            done = tuple(sorted(stack.pop()))
            stack[-1].append(done)
        else:
            stack[-1].append(())
    return stack[0][0]


class Rival:
    """Theorem 9 on a number of real features, with a memo of its own."""

    def __init__(self, real: int) -> None:
        self.real = real
        self.memo: dict[tuple[int, int, int], int] = {}
        self.stirlings: dict[tuple[int, int], int] = {}
        self.ids: dict[Tree, int] = {}
        self.parts: list[tuple[int, int]] = []
        self.leaves: list[int] = []

    def add(self, t: Tree) -> int:
        """Number a tree and all its subtrees."""
        if t not in self.ids:
            children = (self.add(t[0]), self.add(t[1])) if t else (-1, -1)
            self.ids[t] = len(self.parts)
            self.parts.append(children)
            self.leaves.append(self.leaves[children[0]] + self.leaves[children[1]] if t else 1)
        return self.ids[t]

    def stirling(self, m: int, c: int) -> int:
        if c > m or c == 0:
            return int(c == m)
        key = (m, c)
        if key not in self.stirlings:
            self.stirlings[key] = sum((-1) ** i * comb(c, i) * (c - i) ** m for i in range(c)) // factorial(c)
        return self.stirlings[key]

    def pi(self, t: int, c: int, m: int) -> int:
        """Bound on the c-partitions of m points."""
        if c > m or c > self.leaves[t]:
            return 0
        if c == 1 or c == m:
            return 1
        if m <= self.leaves[t]:
            return self.stirling(m, c)
        key = (t, c, m)
        value = self.memo.get(key)
        if value is None:
            value = self.memo[key] = min(self.stirling(m, c), self.total(t, c, m))
        return value

    def total(self, t: int, c: int, m: int) -> int:
        left, right = self.parts[t]
        ways = [
            (a, b, comb(a, c - b) * comb(b, c - a) * factorial(a + b - c))
            for a in range(1, min(c, self.leaves[left]) + 1)
            for b in range(max(1, c - a), min(c, self.leaves[right]) + 1)
        ]
        pi, cap, total = self.pi, 2 * self.real, 0
        for k in range(self.leaves[left], m - self.leaves[right] + 1):
            inner = 0
            for a, b, way in ways:
                inner += way * pi(left, a, k) * pi(right, b, m - k)
            total += min(cap, comb(m, k)) * inner
        return total // 2 if left == right else total

    def vc_bound(self, text: str) -> int:
        """Return the last m before the bound for 2 parts falls below 2**(m-1) - 1, trying one m after the other."""
        t = self.add(nested(text))
        m = self.leaves[t] + 1
        while self.total(t, 2, m) >= 2 ** (m - 1) - 1:
            m += 1
        return m - 1
