"""Speaks HTTP: pages, the API, embeds. It is given a runner and a catalog; it does not know who made them."""
