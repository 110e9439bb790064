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


UNSAFE = "TENSOR_ANATOMY_UNSAFE_NO_SANDBOX"
THE_WORDS = {UNSAFE: "i-trust-every-user"}


def test_without_the_opt_out_no_setting_leads_to_no_sandbox():
    assert Settings.from_env({}).profile == "auto"
    for choice in ("auto", "strict", "strict+bwrap", "sealed"):
        assert Settings.from_env({"SANDBOX": choice}).profile == choice
    for choice in ("none", "", "off", "0"):
        if choice:
            with pytest.raises(SettingInvalid, match="SANDBOX"):
                Settings.from_env({"SANDBOX": choice})


@pytest.mark.parametrize(
    "text", ["1", "true", "yes", "I-TRUST-EVERY-USER", "i-trust-every-user ", "i trust every user"]
)
def test_only_the_exact_words_opt_out(text):
    with pytest.raises(SettingInvalid, match="only the words i-trust-every-user"):
        Settings.from_env({UNSAFE: text})


def test_the_words_opt_out_on_loopback_only():
    assert Settings.from_env(THE_WORDS).profile == "none"
    for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"):
        assert Settings.from_env({**THE_WORDS, "HOST": host}).unsafe_no_sandbox
    for host in (
        "0.0.0.0",
        "::",
        "192.168.1.2",
        "example.org",
        "127.0.0.1.example.org",
        "localhost.example.org",
    ):
        with pytest.raises(SettingInvalid, match="this machine alone"):
            Settings.from_env({**THE_WORDS, "HOST": host})


@pytest.mark.parametrize("asked", [{"REQUIRE_SANDBOX": "1"}, {"SANDBOX": "strict"}])
def test_a_sandbox_that_is_asked_for_is_not_opted_out_of(asked):
    with pytest.raises(SettingInvalid, match="contradict"):
        Settings.from_env({**THE_WORDS, **asked})
