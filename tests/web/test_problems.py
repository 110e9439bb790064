"""Every error of ours has a code, a sentence and a status."""

import re

import pytest
from tensor_anatomy import errors
from tensor_anatomy.errors import AppError, PoolBusy, RequestInvalid
from tensor_anatomy.web.problems import STATUS, app_error_response, problem_of, status_of


def descendants(kind: type[AppError]) -> list[type[AppError]]:
    return [each for child in kind.__subclasses__() for each in (child, *descendants(child))]


ERRORS = [kind for kind in descendants(AppError) if kind.__module__.startswith("tensor_anatomy.")]


def test_there_are_errors_to_check():
    assert {"PoolBusy", "SourceTooLarge", "RequestInvalid"} <= {kind.__name__ for kind in ERRORS}
    assert all(getattr(errors, kind.__name__, None) is kind for kind in STATUS)


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_an_error_has_a_code_a_docstring_and_a_status(kind):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.__dict__["code"])
    assert kind.__doc__
    assert kind.__doc__ != AppError.__doc__
    assert any(parent in STATUS for parent in kind.__mro__), f"{kind.__name__} has no status in problems.py"


def test_codes_are_not_used_twice():
    codes = [kind.code for kind in ERRORS]
    assert sorted(codes) == sorted(set(codes))


def test_the_status_of_a_family_holds_for_its_children():
    class Stricter(RequestInvalid):
        """A child without a status of its own."""

        code = "stricter"

    assert status_of(Stricter("x")) == 422


def test_an_error_that_nobody_gave_a_status_is_a_fault_of_ours(capsys):
    class Unknown(AppError):
        """In no table."""

        code = "unknown"

    problem = problem_of(Unknown("inside"))
    assert problem["code"] == "internal"
    assert "inside" not in problem["message"]
    assert problem["id"] in capsys.readouterr().out


def test_a_full_pool_says_when_to_come_back():
    response = app_error_response(PoolBusy(waiting=3, retry_after_s=7))
    assert (response.status_code, response.headers["retry-after"]) == (429, "7")
    assert "7 seconds" in problem_of(PoolBusy(waiting=3, retry_after_s=7))["message"]
