"""The description of the API is true: requests that it allows, and others, get what it says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi.openapi.utils import get_openapi
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS

from robocle.backbones import Backbone
from robocle.web.routes import api
from web_client import Api, PictureOf, served

EXAMPLES = 30
"""Requests per address."""
CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)


@pytest.fixture(scope="module")
def described(
    tmp_path_factory: pytest.TempPathFactory, lite0: Backbone, picture_of: PictureOf
) -> Iterator[Api]:
    """A server that requests may change, with no limit of requests per second."""
    path: Path = tmp_path_factory.mktemp("described") / "home.robocle"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("robocle.web.security.BURST", 1e9)
        with served(path, lite0) as api:
            for label in ("mug", "clock"):
                api.teach(label, picture_of(label))
            yield api


schema = schemathesis.openapi.from_dict(
    get_openapi(title="robocle", version="1", routes=api.routes)
)


@pytest.mark.slow
@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_one_that_the_description_names(
    case: schemathesis.Case[Any], described: Api
) -> None:
    response = case.call(base_url=described.address, timeout=60)
    checks: Any = [CHECKS.get_one(name) for name in CHECKED]
    case.validate_response(response, checks=checks)
    assert described.get("/api/health").status == 200
