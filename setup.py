"""What pyproject.toml cannot say: the packages below `app/`, and a wheel that carries the built front end.

The folder is `app/`, the import name `tensor_anatomy`; setuptools finds packages only where the
two agree. `build_py` builds the front end first, so that a wheel made by plain `pip wheel .` works
in the browser. An sdist, and the container image, bring a built one and no package.json.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


class BuildPy(build_py):
    def run(self) -> None:
        if not self.editable_mode and (ROOT / "package.json").exists():
            # Modules that are gone since the last build would come along.
            shutil.rmtree(self.build_lib, ignore_errors=True)
            subprocess.run([sys.executable, str(ROOT / "tools/frontend.py")], check=True)
        super().run()


setup(
    packages=[
        "tensor_anatomy",
        *(f"tensor_anatomy.{name}" for name in find_packages("app")),
        "tensor_anatomy.static",
        "tensor_anatomy.templates",
    ],
    cmdclass={"build_py": BuildPy},
)
