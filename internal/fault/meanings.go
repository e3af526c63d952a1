package fault

// Meaning says of a code, for people, when it is answered and what the caller does then. The page doc/errors.md is made from it.
type Meaning struct {
	Code Code
	When string
	Do   string
}

// Meanings has every code once.
var Meanings = []Meaning{
	{Validation, "A member of the request is missing, unknown, of the wrong type or out of range, or members do not fit together.",
		"Correct the member that the message names."},
	{InvalidExpectedVersion, "`expectedVersion`, or `If-Match`, is missing or is not a version number.",
		"Read the project and send the version that you have seen."},
	{IdempotencyKeyRequired, "The operation changes a project and came without the header `Idempotency-Key`.",
		"Send a new key of 8 to 255 characters with each new change, and the same key when you repeat one."},
	{IdempotencyKeyMismatch, "The request carries two idempotency keys that differ.",
		"Send one key, or the same key in both places."},
	{UnknownTier, "The amount of credit to buy is not on offer.", "Choose a `tierId` from the list in the message."},
	{InvalidCursor, "The cursor was not given out by this list.", "Send the `nextCursor` of an earlier answer unchanged, or " +
		"start without one."},
	{Unauthorized, "The credential is missing, unknown, expired or revoked, the password is wrong, or the account is locked.",
		"Sign in again or use another key. Of a locked account, ask the operator."},
	{InsufficientCredits, "What the job may cost is more than the credit that is available.",
		"Buy credit, wait for running jobs to end, or submit a smaller job."},
	{NoPaymentMethod, "This deployment cannot take payments, or its payment provider has refused the request.",
		"Ask the operator; nothing was charged."},
	{InsufficientScope, "The key lacks the scope that the operation needs.", "Create a key with the scope that the message names."},
	{TestKeyLiveBilling, "A test key called an operation that costs credit.", "Use a live key."},
	{SessionRequired, "A key called an operation that only a signed-in person may call.",
		"Sign in, in a browser or with `molfabric login`."},
	{CSRFRejected, "A page of another origin sent the request with a browser session.",
		"Call from this service's own pages, use an API key, or have the operator add the origin."},
	{CostLimitExceeded, "A run used far more than was set aside for it. It stands in the `error` of a job or task; no operation " +
		"answers with it.",
		"Submit a smaller job, or tell the operator: the estimate was wrong."},
	{NotFound, "The address, or the object that it names, does not exist for this account.",
		"Check the id. Objects of other accounts are answered alike."},
	{MethodNotAllowed, "The address exists and does not take this method.", "Use a method that the header `Allow` lists."},
	{UnsupportedMediaType, "The body is not plain JSON in UTF-8.", "Send it uncompressed with `Content-Type: application/json`."},
	{VersionConflict, "Somebody has saved the project since you read it. Nothing was changed.",
		"Read it again, merge, and send its version. Do not repeat with `currentVersion` unseen."},
	{IdempotencyInProgress, "The first request with this idempotency key is still running.", "Repeat the request in a second."},
	{IdempotencyKeyReused, "The idempotency key belongs to another request.", "Send a new key."},
	{JobNotCancellable, "The job has already ended.", "Nothing."},
	{JobNotRetryable, "The job still runs, has nothing to repeat, has been repeated too often, or would fail again for the " +
		"same input.",
		"Wait, or submit a corrected request as a new job."},
	{JobNotEnded, "A job still runs whose receipt was asked for, or whose files, or whose account, were to be deleted.",
		"Cancel it, or wait for its end."},
	{CreditNotConfirmed, "The account has credit that closing it would end, and the request does not state as much.",
		"State the sum that the message names, or have it refunded first."},
	{FilesDeleted, "The owner has deleted the job's files.", "Nothing; the job's record and its bill are kept."},
	{UploadIncomplete, "Parts of the upload are missing.", "Send the parts that the message names and complete again."},
	{ShareRevoked, "The owner has revoked the shared link.", "Ask the owner for a new link."},
	{UploadExpired, "The upload was aborted, or given up as too old.", "Begin a new upload."},
	{PayloadTooLarge, "The body, a document in it, or the request's headers are too large.",
		"Send less; the message names the limit."},
	{PipelineDisabled, "Pipeline jobs are switched off in this deployment.",
		"Submit the simulation and the rendering as two jobs."},
	{UnsupportedSimulator, "The simulator is unknown, ambiguous, or not run by this deployment.",
		"Choose one from the list in the message."},
	{ChecksumMismatch, "A stored file is not the one that its stated size or SHA-256 describes.",
		"Upload the file again, or correct the reference."},
	{WorkerImageMismatch, "The request names another worker image than the one that prepared the receptor.",
		"Send the digest that the message names, or leave `preparedReceptor` out."},
	{ArtifactNotFound, "A file that the request needs is not among the account's files, is gone, or is not made yet.",
		"Upload it, correct its `storageKey`, or wait for the job that makes it."},
	{SceneNotFound, "The `sceneFile` is not among the account's files.", "Upload it, or correct the key."},
	{RateLimited, "Too many requests in a minute, or too many streams or password checks at once.",
		"Wait as long as `Retry-After` says."},
	{ProviderUnavailable, "A store or another part of the service is away for the moment. Nothing is lost.",
		"Wait as long as `Retry-After` says and repeat the request, with its idempotency key."},
	{Internal, "The service has a fault of its own. The code is left out of the answer, and the message holds the request's id.",
		"Tell the operator the request's id."},
}
