"""Claims, tables, figures and the page."""
