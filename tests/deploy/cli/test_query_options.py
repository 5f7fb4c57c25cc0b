"""Error messages of the service, in the words of the command line."""

import pytest

from deploy.cli.query_options import with_option_names


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("'page' must be at least 1", "--page must be at least 1"),
        (
            "Unknown dimension 'page' in 'dimensions[0]'; did you mean 'path'?",
            "Unknown dimension 'page' in 'dimensions[0]'; did you mean 'path'?",
        ),
        (
            "'filters[2].value' must be one value for 'eq'; 'in' takes a list",
            "--where number 3 must be one value for 'eq'; 'in' takes a list",
        ),
        (
            "'parameters[0].goals[0]' has both 'event' and 'goal'; give one of them",
            "--goal number 1 has both 'event' and 'goal'; give one of them",
        ),
        (
            "Unknown dimension 'website'; did you mean 'website_id'?",
            "Unknown dimension 'website'; did you mean 'website_id'?",
        ),
    ],
)
def test_members_are_options_and_names_of_the_user_stay(message: str, shown: str) -> None:
    assert with_option_names(message) == shown
