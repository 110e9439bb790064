"""Finds the files that are not Python: templates and what the browser loads.

In a checkout `templates/` and `static/` lie beside `app/`; in an installed wheel they lie inside
the package. This is the one place that knows. It does not read the files, and it does not know
what they mean.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def resource(name: str) -> Path:
    """Return the folder of that name, wherever this copy of the project keeps it.

    Args:
        name: "static" or "templates".

    Raises:
        FileNotFoundError: The folder is in neither place: the installation is damaged.

    >>> (resource("templates") / "base.html").is_file()
    True
    """
    for parent in (_PACKAGE, _PACKAGE.parent):
        if (parent / name).is_dir():
            return parent / name
    raise FileNotFoundError(f"The folder {name!r} of Tensor Anatomy is missing; install it again.")
