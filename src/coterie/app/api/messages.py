"""The requests and responses of the API, as pydantic models: checks, and the OpenAPI schema."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from coterie.models.rating_model import Source

MAX_IDS = 10_000  # candidates, excluded items, and pairs per request
MAX_RATINGS = 1_000  # of one unknown user
MAX_RESULTS = 1_000
_MOST_RULES = 20  # of one kind


def _encodable(text: str) -> str:
    """Refuse text that cannot be written as UTF-8, such as half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("is not valid Unicode text") from None
    return text


Text = Annotated[str, Field(strict=True, max_length=1_000), AfterValidator(_encodable)]
Id = Annotated[int, Field(strict=True, ge=-(2**63), le=2**63 - 1)] | Text
Ids = Annotated[list[Id], Field(max_length=MAX_IDS)]
Value = Annotated[float, Field(allow_inf_nan=False, strict=True)]
Count = Annotated[int, Field(ge=1, le=MAX_RESULTS, strict=True)]
Places = Annotated[int, Field(ge=0, le=MAX_RESULTS, strict=True)]
Order = Literal["rating", "interaction", "both"]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Pair(_Request):
    """A user and an item."""

    user: Id
    item: Id


class PredictRequest(_Request):
    """Pairs whose ratings are to be predicted."""

    pairs: Annotated[list[Pair], Field(min_length=1, max_length=MAX_IDS)]
    distribution: bool = Field(
        default=False, description="Also return the probability of each possible rating."
    )


class Rating(_Request):
    """A rating that an unknown user gave."""

    item: Id
    rating: Value


Ratings = Annotated[list[Rating], Field(min_length=1, max_length=MAX_RATINGS)]


class _ForSomebody(_Request):
    """A request about a known user, or about somebody who is described by ratings."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["user"]}, {"required": ["ratings"]}]}
    )
    user: Id | None = Field(default=None, description="The id of a user of the model.")
    ratings: Ratings | None = Field(
        default=None,
        description="Ratings for this request only: of an unknown user, or further ones of `user`.",
    )

    @model_validator(mode="after")
    def _somebody(self) -> _ForSomebody:
        if self.user is None and self.ratings is None:
            raise ValueError("give `user` or `ratings`")
        return self


class Quota(_Request):
    """How many items of a list satisfy a condition on the table of items, as genres=Comedy."""

    where: Text
    at_least: Places = 0
    at_most: Places = MAX_RESULTS


class Boost(_Request):
    """What is added to the scores of items that satisfy a condition, in standard deviations."""

    where: Text
    add: Value


class Rules(_Request):
    """Rules for a list; conditions are about the table of items that the server was given."""

    quota: Annotated[list[Quota], Field(max_length=_MOST_RULES)] = []
    boost: Annotated[list[Boost], Field(max_length=_MOST_RULES)] = []
    max_per: Annotated[dict[Text, Count], Field(max_length=_MOST_RULES)] = Field(
        default={}, description="Maximum number of items with the same value of a column."
    )
    min_novelty: Annotated[Value, Field(ge=0)] = Field(
        default=0.0, description="Leave out items that more than one in 2**min_novelty users have."
    )
    seen: Literal["exclude", "include", "only"] | None = Field(
        default=None, description="Items that the user rated; by default as exclude_seen says."
    )
    diversity: Annotated[Value, Field(ge=0, le=1)] = Field(
        default=0.0, description="Weight of the similarity to items further up."
    )


class RecommendRequest(_ForSomebody):
    """Whom to recommend to, how many items, and which."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"anyOf": [{"required": ["user"]}, {"required": ["ratings"]}]},
                {"required": ["users"]},
            ]
        }
    )
    users: Annotated[list[Id], Field(min_length=1, max_length=MAX_RESULTS)] | None = Field(
        default=None, description="Several users of the model: one list for each."
    )
    n: Count = Field(default=10, description="Maximum number of items.")
    candidates: Ids | None = Field(default=None, description="Recommend only these items.")
    exclude: Ids = Field(default=[], description="Never recommend these items.")
    order: Order | None = Field(
        default=None,
        description="What the items are ranked by: the expected rating, the probability that the "
        "user interacts with them, or both. By default, as the library ranks.",
    )
    exclude_seen: bool = Field(default=True, description="Leave out items that the user rated.")
    rules: Rules | Literal[False] | None = Field(
        default=None, description="Rules for the list, instead of those of the server; false: none."
    )

    @model_validator(mode="after")
    def _somebody(self) -> RecommendRequest:
        if (self.users is None) == (self.user is None and self.ratings is None):
            raise ValueError("give `user`, `users` or `ratings`")
        return self


class ExplainRequest(_ForSomebody):
    """The prediction to explain."""

    item: Id


class SimilarRequest(_Request):
    """The item to compare with all others."""

    item: Id
    n: Count = 10


class NewRating(_Request):
    """A rating that somebody gave."""

    user: Id
    item: Id
    rating: Value


class NewRatingsRequest(_Request):
    """Ratings to add to the model; a second one of the same user and item replaces the first."""

    ratings: Annotated[list[NewRating], Field(min_length=1, max_length=MAX_RATINGS)]


class NewRatingsResponse(BaseModel):
    """How many ratings are on the disk now."""

    accepted: int


class Alive(BaseModel):
    """The server answers."""

    status: Literal["ok"]


class Prediction(BaseModel):
    """The expected rating of a pair."""

    user: Id
    item: Id
    rating: float
    unseen: bool = Field(
        description="The user or the item has no ratings; the rating is predicted from the other "
        "ratings of the item, of the user, or of all."
    )
    probabilities: list[float] | None = Field(
        default=None, description="The probability of each of `values`."
    )


class PredictResponse(BaseModel):
    """One prediction per pair, in the order of the request."""

    predictions: list[Prediction]
    values: list[float] = Field(description="The possible ratings, in increasing order.")


class RankedItem(BaseModel):
    """An item and its expected rating."""

    item: Id
    rating: float


class _List(BaseModel):
    items: list[RankedItem]
    unseen: bool = Field(
        description="The user has no ratings; the items are those that are rated highest in "
        "general."
    )
    unmet: list[str] = Field(
        default=[], description="Quotas of the rules for which the user has too few items left."
    )


class RecommendResponse(_List):
    """The best items, the best first."""

    unknown_items: list[Id] = Field(
        description="Items of the request that the model does not know."
    )


class ListOf(_List):
    """The best items of one user."""

    user: Id


class BatchResponse(BaseModel):
    """One list per user, in the order of the request."""

    lists: list[ListOf]
    unknown_items: list[Id]


class ReasonPart(BaseModel):
    """One of the largest terms of an expected rating."""

    share: float = Field(description="What the term adds to the expected rating.")
    source: Source
    user_group: str
    item_group: str
    examples: list[Id] = Field(
        description="Well-known items of the item group; of source rating, the item that was rated."
    )


class ExplainResponse(BaseModel):
    """The terms that add up to an expected rating."""

    item: Id
    rating: float
    reasons: list[ReasonPart] = Field(description="The largest terms, the largest first.")
    words: list[str] = Field(description="The same as sentences.")


class SimilarItem(BaseModel):
    """An item and its similarity, at most 1."""

    item: Id
    similarity: float


class SimilarResponse(BaseModel):
    """The most similar items, the most similar first."""

    item: Id
    items: list[SimilarItem]


class HealthResponse(BaseModel):
    """The state of the server and of its model."""

    status: Literal["ok", "degraded"] = Field(
        description="degraded: the model file was replaced by one that cannot be read; the "
        "previous model answers."
    )
    model: str
    model_hash: str = Field(description="SHA-256 of the model file.")
    model_version: str = Field(
        description="As in the header X-Model of every answer: the beginning of the hash, and the "
        "number of ratings that were added."
    )
    users: int
    items: int
    ratings: int
    ratings_applied: int = Field(description="Ratings of the log that were added to the model.")
    loaded: str = Field(description="When the model was loaded (UTC).")
    reloads: int
    problem: str | None = Field(default=None, description="Why the last reload failed.")
    version: str


class FieldProblem(BaseModel):
    """A field of the request, and what is wrong with it."""

    field: str
    problem: str


class ProblemDocument(BaseModel):
    """What is wrong with a request (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = []
