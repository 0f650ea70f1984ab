"""The papers' experiments, re-run: each a table, a plot, a claim and its acceptance (`fff experiment`)."""
