"""Published results, computed again: one module for each figure or table."""

from .figure6 import Claims, Figure6, Row, figure6

__all__ = ["Claims", "Figure6", "Row", "figure6"]
