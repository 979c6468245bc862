"""A request that is not answered."""

from nsed.errors import NsedError


class ApiError(NsedError):
    """Why not: the status of HTTP, a word for programs, a sentence for people, and the field of the request."""

    def __init__(
        self, status: int, code: str, message: str, *, field: str | None = None, retry_after: int | None = None
    ) -> None:
        self.status, self.code, self.message, self.field = status, code, message, field
        self.headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        super().__init__(message)
