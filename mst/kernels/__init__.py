"""Building blocks over plain arrays. They know none of the package's data types and import nothing above them."""
