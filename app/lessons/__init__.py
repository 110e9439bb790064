"""Prose: lessons in Markdown, the programs they show, and the traces recorded from those programs.

It knows neither HTTP nor how a program is run.
"""
