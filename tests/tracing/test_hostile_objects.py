"""Watching runs no code of the program, whatever its classes, objects and namespaces answer."""

import pytest

from .hostile_programs import PROGRAMS
from .twins import effects, ended

MODULE = """
import sys, torch
from torch import nn
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)
    def forward(self, x):
        for child in list(dict.values(nn.Module.__dict__["__dict__"].__get__(self)["_modules"])):
            x = child(x)
        return x
{setup}
y = m(torch.ones(1, 2))
y.sum().backward()
"""
SETUPS = {
    "children in a dictionary of its own": """
class D(dict):
    def items(self):
        print("items")
        return super().items()
    def get(self, *args):
        print("get")
        return super().get(*args)
m = Inner()
m.__dict__["_modules"] = D(m.__dict__["_modules"])
""",
    "keys that are no text, or answer for themselves": """
class K(str):
    def isdigit(self):
        print("isdigit")
        return True
    def isidentifier(self):
        print("isidentifier")
        return True
    def __format__(self, spec):
        print("format")
        return "f"
m = Inner()
m._modules[K("k")] = nn.Linear(2, 2)
m._modules[7] = nn.Linear(2, 2)
""",
    "a dictionary that is a property": """
class P:
    @property
    def __dict__(self):
        print("asked")
        return {"a": torch.ones(1)}
m, p = Inner(), P()
""",
    "a class that names itself": """
class Meta(type):
    @property
    def __name__(cls):
        if "torch" not in sys._getframe(1).f_code.co_filename:
            print("name")
        return "Forged"
class Own(Inner, metaclass=Meta):
    pass
m = Own()
""",
}


@pytest.mark.parametrize("setup", SETUPS)
def test_hostile_modules_hear_nothing_of_being_watched(setup: str) -> None:
    program = MODULE.format(setup=SETUPS[setup])
    assert ended(program, observed=True).outcome.kind == "finished"
    assert effects(program) == {}


@pytest.mark.parametrize("name", PROGRAMS)
def test_objects_that_count_their_calls_hear_nothing_of_being_watched(name: str) -> None:
    end = ended(PROGRAMS[name], observed=True)
    assert end.outcome.kind == "finished"
    assert end.stdout.startswith("[")
    assert effects(PROGRAMS[name]) == {}
