"""Request and response schemas, as OpenAPI shows them."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, computed_field

Picture = Literal["alpha", "posteriors", "lattice", "waterfall"]

FORMER = computed_field(json_schema_extra={"deprecated": True})
"""Field that answers under an old name until 2.0; pydantic's own `deprecated` would warn in every response."""


class ModelRequest(BaseModel):
    """Request to a model; unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(description="Name of a model, see /api/models.", examples=["g2p-en"])


class RequestPair(BaseModel):
    """Pair of strings."""

    model_config = ConfigDict(extra="forbid")

    source: str
    target: str


class TransduceRequest(ModelRequest):
    """Transduction request: sources to be turned into targets."""

    sources: list[str] = Field(examples=[["flagships", "thought"]])
    nbest: int = Field(1, ge=1, description="Targets per source, the most probable first.")
    beam: int | None = Field(None, ge=1, description="Prefixes followed at once; the model's own number if left out.")
    scripts: bool = Field(False, description="Whether to tell the edit script of every target.")


class PairsRequest(ModelRequest):
    """Matching or alignment request: pairs to be decided on, or aligned."""

    pairs: list[RequestPair]


class ExplainRequest(ModelRequest):
    """Explanation request: one pair."""

    source: str = Field(examples=["flagships"])
    target: str | None = Field(None, description="Of a transducer, if left out: what it writes itself.")
    scripts: int = Field(3, ge=1, le=10, description="How many of the best edit scripts.")
    html: bool = Field(False, description="Whether to draw it as a part of a page (style: /static/explain.css).")
    pictures: list[Picture] = Field(default_factory=list, description="Pictures to draw as SVG.", max_length=4)


class RulesRequest(ModelRequest):
    """Rules request: in given pairs, in those the server was started with, or of the weights alone."""

    pairs: list[RequestPair] | None = None
    by: Literal["support", "surprise"] = "support"
    top: int = Field(50, ge=1, le=1000)


class Script(BaseModel):
    """Edit script: `a` stays, `a→b` is substituted, `-a` deleted, `+b` inserted."""

    text: str
    edits: list[dict[str, Any]]


class Answer(BaseModel):
    """Transduced target. Its log-probability is the model's own, null where the model cannot write it."""

    target: str
    symbols: list[str]
    log_prob: float | None
    probability: float
    override: bool = Field(description="Whether it comes from the file of overrides, not from the model.")
    script: Script | None = None

    @FORMER
    def exception(self) -> bool:
        """The old name of `override`, until 2.0."""
        return self.override


class TransduceResult(BaseModel):
    """N-best targets of one source, and symbols that the model has never seen."""

    source: str
    answers: list[Answer]
    unknown: list[str]


class TransduceResponse(BaseModel):
    """Transduction response: an entry per source, in the order asked."""

    model: str
    results: list[TransduceResult]


class MatchResult(BaseModel):
    """Match decision: whether a pair matches, and how probably."""

    source: str
    target: str
    match: bool
    probability: float
    score: float | None
    threshold: float
    threshold_probability: float = Field(description="Pairs with at least this probability match.")


class MatchResponse(BaseModel):
    """Matching response: an entry per pair, in the order asked."""

    model: str
    results: list[MatchResult]


class AlignResult(BaseModel):
    """Aligned pair and the edit operations that make one of the other."""

    source: str
    target: str
    script: Script


class AlignResponse(BaseModel):
    """Alignment response: an entry per pair, in the order asked."""

    model: str
    results: list[AlignResult]


class ExplainResponse(BaseModel):
    """Explanation response: scripts, tables and contributions (see the documentation of explanations), and pictures."""

    model: str
    source: str
    target: str
    override: bool
    explanation: dict[str, Any]
    html: str | None
    pictures: dict[str, str]

    @FORMER
    def exception(self) -> bool:
        """The old name of `override`, until 2.0."""
        return self.override


class RulesResponse(BaseModel):
    """Rules response: the first rules, and in how many pairs they were counted; 0 if they are the weights'."""

    model: str
    pairs: int
    total: int
    rules: list[dict[str, Any]]


class Example(BaseModel):
    """Example input, something to try."""

    source: str
    target: str | None = None


class ModelCard(BaseModel):
    """Model card: what a model is called and can do."""

    name: str
    title: str
    kind: str
    abilities: list[Literal["transduce", "match", "align", "explain", "rules"]]
    examples: list[Example]


class ModelsResponse(BaseModel):
    """Models response: all that are served, and what a request may ask for."""

    models: list[ModelCard]
    limits: dict[str, int | float]
    overrides: int = Field(description="How many overrides there are.")

    @FORMER
    def exceptions(self) -> int:
        """The old name of `overrides`, until 2.0."""
        return self.overrides


class Health(BaseModel):
    """Health check response: the server is there."""

    status: Literal["ok"] = "ok"
    version: str
    waiting: int


class Fault(BaseModel):
    """Error detail: a code for programs, a sentence for people, and the field of the request."""

    code: str
    message: str
    field: str | None


class ErrorBody(BaseModel):
    """Error response, to every request that fails."""

    error: Fault
