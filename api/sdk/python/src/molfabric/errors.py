"""What can go wrong. Every failure is an Error; one that the server answers with is an APIError, of a class by its code.

The codes, with what to do about each, are those of doc/errors.md. An unknown code has the class of its status.
"""

from __future__ import annotations

import json


class Error(Exception):
    """Any failure that this package reports."""


class NetworkError(Error):
    """The server gave no answer: nobody listens, the connection broke, or time ran out."""


class ChecksumError(Error):
    """Downloaded bytes are not the ones that the server has recorded."""


class JobFailed(Error):
    """A job has ended without results. `code` says why, `job_id` which."""

    def __init__(self, job_id: str, status: str, code: str | None, message: str) -> None:
        super().__init__(f"{job_id} has ended as {status}: {message}" + (f" ({code})" if code else ""))
        self.job_id, self.status, self.code = job_id, status, code


class APIError(Error):
    """A failure that the server has answered with.

    status is the HTTP status; code is for programs and empty when something in between has answered; request_id is to be
    quoted to the operator; retry_after_s is how long the server asks to wait, 0 when it says nothing.
    """

    def __init__(self, status: int, code: str, message: str, request_id: str = "", retry_after_s: float = 0) -> None:
        super().__init__(message + (f" ({code})" if code else "") + (f", request id {request_id}" if status >= 500 else ""))
        self.status, self.code, self.message = status, code, message
        self.request_id, self.retry_after_s = request_id, retry_after_s


class InvalidRequest(APIError):
    """A member of the request is missing, unknown or out of range; the message names it."""


class Unauthorized(APIError):
    """The key is missing, unknown, expired or revoked."""


class PaymentRequired(APIError):
    """There is not enough credit, or it cannot be bought."""


class Forbidden(APIError):
    """The key may not do that."""


class NotFound(APIError):
    """The object does not exist for this account."""


class Conflict(APIError):
    """What is there does not allow it now."""


class Gone(APIError):
    """It was deleted, revoked or given up."""


class TooLarge(APIError):
    """The request is larger than is taken."""


class Unprocessable(APIError):
    """A file or a program that the request names is not there, or is another one."""


class RateLimited(APIError):
    """Too many requests at once; retries have not helped."""


class ServerError(APIError):
    """The service has a fault of its own, or a part of it is away."""


class InsufficientCredits(PaymentRequired):
    """What the job may cost is more than the credit that is available."""


class InsufficientScope(Forbidden):
    """The key lacks the scope that the message names."""


class JobNotEnded(Conflict):
    """The job still runs."""


class UploadExpired(Gone):
    """The upload was given up; begin a new one."""


class FilesDeleted(Gone):
    """The owner has deleted the job's files."""


class ArtifactNotFound(Unprocessable):
    """A file that the request needs is not among the account's files."""


class ProviderUnavailable(ServerError):
    """A store or another part of the service is away for the moment."""


_BY_CODE: dict[str, type[APIError]] = {
    "VALIDATION_ERROR": InvalidRequest, "INSUFFICIENT_CREDITS": InsufficientCredits, "INSUFFICIENT_SCOPE": InsufficientScope,
    "JOB_NOT_ENDED": JobNotEnded, "UPLOAD_EXPIRED": UploadExpired, "FILES_DELETED": FilesDeleted,
    "ARTIFACT_NOT_FOUND": ArtifactNotFound, "SCENE_NOT_FOUND": ArtifactNotFound, "PROVIDER_UNAVAILABLE": ProviderUnavailable,
}
_BY_STATUS: dict[int, type[APIError]] = {
    400: InvalidRequest, 401: Unauthorized, 402: PaymentRequired, 403: Forbidden, 404: NotFound, 405: InvalidRequest,
    409: Conflict, 410: Gone, 413: TooLarge, 415: InvalidRequest, 422: Unprocessable, 429: RateLimited,
}


def of_answer(status: int, body: bytes, request_id: str = "", retry_after: str = "") -> APIError:
    """The error that a failed answer stands for; an answer that is not the API's own has no code."""
    try:
        said = json.loads(body)
        message, code = str(said["error"]), str(said.get("code", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        message, code = f"the server answered {status}", ""
    wait_s = float(retry_after) if retry_after.strip().isdigit() else 0.0
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status) or (ServerError if status >= 500 else APIError)
    return kind(status, code, message, request_id, wait_s)
