"""Settings come from the environment, once, as values."""

import dataclasses
from pathlib import Path

import pytest
from tensor_anatomy import settings as settings_module
from tensor_anatomy.settings import _VARIABLES, SettingInvalid, Settings


def test_without_variables_the_defaults_are_those_of_the_contract():
    settings = Settings.from_env({})
    assert settings == Settings()
    assert (settings.host, settings.port, settings.source_bytes) == ("127.0.0.1", 8000, 65536)
    limits = settings.limits
    assert (limits.wall_s, limits.cpu_s, limits.memory_bytes) == (5, 4, 512 * 2**20)
    assert (limits.steps_kept, limits.statements, limits.value_elements) == (2000, 1_000_000, 1024)
    assert (limits.stdout_kept_bytes, limits.stdout_bytes) == (65536, 8 * 2**20)
    assert limits.trace_bytes == 4 * 2**20


def test_every_field_has_a_variable_named_in_its_documentation():
    fields = [field.name for field in dataclasses.fields(Settings)]
    assert list(_VARIABLES) == fields
    source = Path(settings_module.__file__).read_text(encoding="utf-8")
    for variable, _ in _VARIABLES.values():
        assert f'"""{variable}: ' in source


def test_variables_are_read_by_type():
    settings = Settings.from_env(
        {"PORT": "9", "WALL_SECONDS": "0.5", "REQUIRE_SANDBOX": "1", "LESSONS": "/x"}
    )
    assert (settings.port, settings.wall_s, settings.require_sandbox) == (9, 0.5, True)
    assert str(settings.lessons) == "/x"


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("PORT", "http"),
        ("SANDBOXES", "0"),
        ("WALL_SECONDS", "nan"),
        ("WALL_SECONDS", "-1"),
        ("REQUIRE_SANDBOX", "maybe"),
        ("FRAME_ANCESTORS", "*; script-src *"),
        ("PUBLIC_URL", "http://a\nb"),
    ],
)
def test_a_variable_that_makes_no_sense_is_named(variable, text):
    with pytest.raises(SettingInvalid, match=variable):
        Settings.from_env({variable: text})
