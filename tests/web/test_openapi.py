"""Requests made up from the description of the API: none of them makes the server fail."""

import pytest
import schemathesis
from hypothesis import Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

pytestmark = [
    pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning"),
    pytest.mark.filterwarnings("ignore::nsed.errors.CutOutputWarning"),
]
ASKING = [("POST", f"/api/{verb}") for verb in ("transduce", "match", "align", "explain", "rules")]
LOOKING = [("GET", "/api/models"), ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/metrics")]
EXAMPLES, EXPECTED = 40, {200, 400, 405, 415, 422}
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def description(address):
    return schemathesis.openapi.from_url(f"{address}/openapi.json")


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), ASKING + LOOKING)
def test_what_the_description_allows_makes_no_server_fail(description, method, path):
    assert 200 in statuses(description[path][method], GenerationMode.POSITIVE)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), ASKING)
def test_what_the_description_forbids_makes_no_server_fail(description, method, path):
    assert statuses(description[path][method], GenerationMode.NEGATIVE) & {400, 422}


def statuses(operation, mode):
    """The statuses of the answers, all of which have the form that the description promises."""
    found = set()

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
    def send(case):
        response = case.call()
        case.validate_response(response, checks=CHECKS)
        found.add(response.status_code)

    send()
    assert found <= EXPECTED
    return found
