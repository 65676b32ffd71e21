"""Edge lists and compressed sparse rows: building, simplifying, relabelling and sampling them."""
