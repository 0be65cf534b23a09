"""An option that takes one value is given once."""

import pytest
from typer.core import TyperOption
from typer.main import get_command
from typer.testing import CliRunner

from d3stats.cli import app

GROUP = get_command(app)


@pytest.mark.parametrize("command", GROUP.commands)
def test_an_option_that_takes_one_value_is_refused_when_given_twice(command):
    single = {
        max(option.opts, key=len): option.nargs
        for option in GROUP.commands[command].params
        if isinstance(option, TyperOption) and not option.multiple and not option.is_flag
    }
    for option, nargs in single.items():
        result = CliRunner().invoke(app, [command, *[option, *["1"] * nargs] * 2])
        assert result.exit_code == 1, option
        assert f"{option} takes one value; got it twice" in result.output + result.stderr


def test_a_repeatable_option_takes_many_values():
    result = CliRunner().invoke(app, ["replay", "slm7", "--rule", "fixed:1", "--rule", "fixed:2"])
    assert result.exit_code == 0, result.output
