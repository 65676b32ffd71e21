"""Spanning trees of points: a k-d tree, nearest neighbours, and Borůvka's rounds over both."""
