"""Graphs of other libraries, and our algorithms behind their interfaces."""
