"""Building blocks over plain arrays. They know no noun of the package and import nothing above them."""
