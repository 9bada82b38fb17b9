"""How complex is this decision tree, and what follows from that?"""

__version__ = "0.1.0"
