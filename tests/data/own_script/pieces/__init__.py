"""Pieces of the model."""
