package chaos

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// fullPartBytes is the least size of a part but the last, which S3 sets.
	fullPartBytes = 5 << 20
	// lastPartBytes is the size of the last part: so small that it has gone out before a server that refuses it hangs up.
	lastPartBytes = 1000
	// wholeBytes is a file of two parts.
	wholeBytes = fullPartBytes + lastPartBytes
	// shortLife is how long an address is good that is to go stale.
	shortLife = time.Second
	// repeatedCompletions come at the same moment.
	repeatedCompletions = 12
)

// badUploadsAndPayments is R19: it uploads badly and pays badly.
func badUploadsAndPayments(ctx context.Context, w *World, rng *rand.Rand) error {
	till, err := openTill()
	if err != nil {
		return err
	}
	defer till.close()
	for range 3 {
		if _, err := w.StartAPI(ctx, till.env()...); err != nil {
			return err
		}
	}
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	return errors.Join(uploadBadly(ctx, w, rng, account), till.payBadly(ctx, w, rng))
}

// partUpload is an upload in two parts.
type partUpload struct {
	world   *World
	account *Account
	content []byte
	checked bool // the store holds every part against its SHA-256

	UploadID, Key string
}

// signedPart is where a part goes.
type signedPart struct {
	URL     string
	Headers map[string]string
}

// begin begins an upload of content; more are further members of the request.
func (w *World) begin(ctx context.Context, account *Account, content []byte, more map[string]any) (*partUpload, error) {
	u := &partUpload{world: w, account: account, content: content, checked: more["checksumAlgorithm"] != nil}
	request := map[string]any{"filename": "parts.bin", "contentType": "application/octet-stream", "size": len(content),
		"partSize": fullPartBytes}
	for name, value := range more {
		request[name] = value
	}
	answer, err := account.Send(ctx, w.APIs()[0], http.MethodPost, "/v1/uploads", encode(request))
	if err != nil {
		return nil, err
	}
	return u, answer.read(u, http.StatusCreated)
}

// part is the bytes of a part, counted from 1.
func (u *partUpload) part(number int) []byte {
	return u.content[(number-1)*fullPartBytes : min(number*fullPartBytes, len(u.content))]
}

// sum is a part's SHA-256 as an upload with checked parts has it; "" in any other.
func (u *partUpload) sum(number int) string {
	if !u.checked {
		return ""
	}
	digest := sha256.Sum256(u.part(number))
	return base64.StdEncoding.EncodeToString(digest[:])
}

// named is a part in a list of parts.
func (u *partUpload) named(number int) map[string]any {
	part := map[string]any{"partNumber": number}
	if sum := u.sum(number); sum != "" {
		part["checksumSha256"] = sum
	}
	return part
}

// sign asks where a part goes.
func (u *partUpload) sign(ctx context.Context, number int) (signedPart, error) {
	answer, err := u.account.Send(ctx, u.world.APIs()[0], http.MethodPost, "/v1/uploads/"+u.UploadID+"/parts",
		encode(map[string]any{"parts": []any{u.named(number)}}))
	if err != nil {
		return signedPart{}, err
	}
	var signed struct{ Parts []signedPart }
	if err := answer.read(&signed, http.StatusOK); err != nil {
		return signedPart{}, err
	}
	if len(signed.Parts) != 1 {
		return signedPart{}, fmt.Errorf("%d parts were signed, want 1", len(signed.Parts))
	}
	return signed.Parts[0], nil
}

// put sends bytes to where a part goes.
func (s signedPart) put(ctx context.Context, body []byte) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, s.URL, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	for name, value := range s.Headers {
		request.Header.Set(name, value)
	}
	return send(request)
}

// send signs a part and sends these bytes for it.
func (u *partUpload) send(ctx context.Context, number int, body []byte) (Answer, error) {
	signed, err := u.sign(ctx, number)
	if err != nil {
		return Answer{}, err
	}
	return signed.put(ctx, body)
}

// sendAll sends every part as it should be.
func (u *partUpload) sendAll(ctx context.Context) error {
	for number := 1; number <= 2; number++ {
		answer, err := u.send(ctx, number, u.part(number))
		if err == nil {
			err = answer.read(nil, http.StatusOK)
		}
		if err != nil {
			return fmt.Errorf("part %d: %w", number, err)
		}
	}
	return nil
}

// complete asks an API to make the file of these parts; none means both.
func (u *partUpload) complete(ctx context.Context, api int, parts ...map[string]any) (Answer, error) {
	if len(parts) == 0 {
		parts = []map[string]any{u.named(1), u.named(2)}
	}
	apis := u.world.APIs()
	return u.account.Send(ctx, apis[api%len(apis)], http.MethodPost, "/v1/uploads/"+u.UploadID+"/complete",
		encode(map[string]any{"parts": parts}))
}

// notThere makes sure that a job cannot name the file.
func (u *partUpload) notThere(ctx context.Context) error {
	request := map[string]any{"jobType": "simulation", "simulator": "probe", "sceneFile": u.Key}
	answer, err := u.account.Send(ctx, u.world.APIs()[0], http.MethodPost, "/v1/jobs/submit", encode(request))
	if err != nil {
		return err
	}
	return answer.refuses(http.StatusUnprocessableEntity, "SCENE_NOT_FOUND")
}

// abort ends the upload, twice, after which nothing of it is left.
func (u *partUpload) abort(ctx context.Context) error {
	for range 2 {
		answer, err := u.account.Send(ctx, u.world.APIs()[0], http.MethodDelete, "/v1/uploads/"+u.UploadID, nil)
		if err == nil {
			err = answer.read(nil, http.StatusNoContent)
		}
		if err != nil {
			return fmt.Errorf("abort: %w", err)
		}
	}
	return nil
}

// badUpload is one way to upload badly. more are members of the request that begins it.
type badUpload struct {
	name string
	more map[string]any
	do   func(ctx context.Context, u *partUpload) error
}

// uploadBadly does everything wrong that can be done with parts, in an order of chance.
func uploadBadly(ctx context.Context, w *World, rng *rand.Rand, account *Account) error {
	content := make([]byte, wholeBytes)
	for i := range content {
		content[i] = byte(rng.Uint32())
	}
	checked := map[string]any{"checksumAlgorithm": "sha256"}
	wrong := map[string]any{"sha256": strings.Repeat("0", 64)}
	all := []badUpload{
		{"a short part", nil, shortPart}, {"a short part, checked", checked, shortPart},
		{"a part with other bytes", checked, otherBytes}, {"a part that never came", nil, missingPart},
		{"parts in the wrong order", nil, wrongOrder}, {"the ETag of another part", nil, otherTag},
		{"a stale address", nil, staleAddress}, {"an aborted upload", nil, abortedUpload},
		{"a whole file with another digest", wrong, otherWhole}, {"completed twice", nil, completedTwice},
		{"completed twice, checked", checked, completedTwice}, {"a part after the completion", nil, partAfterwards},
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var failures []error
	for _, bad := range all {
		u, err := w.begin(ctx, account, content, bad.more)
		if err == nil {
			err = bad.do(ctx, u)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", bad.name, err))
		}
	}
	w.Figure("bad_uploads_count", float64(len(all)))
	return someOf(failures)
}

// storeRefuses expects a refusal of the object store with one of its own codes.
func storeRefuses(answer Answer, status int, codes ...string) error {
	if answer.Status != status || !slices.ContainsFunc(codes,
		func(code string) bool { return bytes.Contains(answer.Body, []byte("<Code>"+code+"</Code>")) }) {
		return fmt.Errorf("the store answered %s, want %d with one of %v", answer, status, codes)
	}
	return nil
}

// incomplete expects that the upload cannot be completed, and ends it.
func (u *partUpload) incomplete(ctx context.Context) error {
	answer, err := u.complete(ctx, 0)
	if err != nil {
		return err
	}
	return errors.Join(answer.refuses(http.StatusConflict, "UPLOAD_INCOMPLETE"), u.notThere(ctx), u.abort(ctx))
}

func shortPart(ctx context.Context, u *partUpload) error {
	if err := u.sendAll(ctx); err != nil {
		return err
	}
	answer, err := u.send(ctx, 2, u.part(2)[:lastPartBytes/2]) // its length is signed
	if err != nil {
		return err
	}
	if err := storeRefuses(answer, http.StatusForbidden, "SignatureDoesNotMatch", "AccessDenied"); err != nil {
		return errors.Join(err, u.abort(ctx))
	}
	return u.succeeds(ctx) // the part that was there has stayed
}

func otherBytes(ctx context.Context, u *partUpload) error {
	answer, err := u.send(ctx, 2, bytes.Repeat([]byte{'x'}, lastPartBytes))
	if err != nil {
		return err
	}
	return errors.Join(storeRefuses(answer, http.StatusBadRequest, "BadDigest", "XAmzContentChecksumMismatch", "InvalidRequest"),
		u.incomplete(ctx))
}

func missingPart(ctx context.Context, u *partUpload) error {
	answer, err := u.send(ctx, 1, u.part(1))
	if err != nil {
		return err
	}
	return errors.Join(answer.read(nil, http.StatusOK), u.incomplete(ctx))
}

func wrongOrder(ctx context.Context, u *partUpload) error {
	if err := u.sendAll(ctx); err != nil {
		return err
	}
	for _, parts := range [][]map[string]any{{u.named(2), u.named(1)}, {u.named(1), u.named(1), u.named(2)}} {
		answer, err := u.complete(ctx, 0, parts...)
		if err == nil {
			err = answer.refuses(http.StatusBadRequest, "VALIDATION_ERROR")
		}
		if err != nil {
			return errors.Join(err, u.abort(ctx))
		}
	}
	return u.succeeds(ctx)
}

func otherTag(ctx context.Context, u *partUpload) error {
	if err := u.sendAll(ctx); err != nil {
		return err
	}
	second := u.named(2)
	second["etag"] = `"` + strings.Repeat("0", 32) + `"`
	answer, err := u.complete(ctx, 0, u.named(1), second)
	if err == nil {
		err = answer.refuses(http.StatusBadRequest, "VALIDATION_ERROR")
	}
	return errors.Join(err, u.notThere(ctx), u.abort(ctx))
}

// staleAddress signs a part as the service does, for a moment only, and comes later.
func staleAddress(ctx context.Context, u *partUpload) error {
	handle, err := storeHandle(ctx, u.world.db, u.UploadID)
	if err != nil {
		return err
	}
	var stale signedPart
	stale.URL, stale.Headers, err = u.world.Objects().PresignPart(ctx, u.Key, handle, 2, lastPartBytes, "", shortLife)
	if err != nil {
		return err
	}
	over := time.Now().Add(2 * shortLife)
	err = u.world.Eventually(ctx, "the address is stale", patience, func(context.Context) (bool, error) {
		return time.Now().After(over), nil
	})
	if err != nil {
		return err
	}
	answer, err := stale.put(ctx, u.part(2))
	if err != nil {
		return err
	}
	return errors.Join(storeRefuses(answer, http.StatusForbidden, "AccessDenied", "ExpiredToken"), u.incomplete(ctx))
}

func abortedUpload(ctx context.Context, u *partUpload) error {
	signed, err := u.sign(ctx, 2)
	if err != nil {
		return err
	}
	if err := u.abort(ctx); err != nil {
		return err
	}
	answer, err := signed.put(ctx, u.part(2))
	if err != nil {
		return err
	}
	completed, err := u.complete(ctx, 0)
	if err == nil && completed.Status != http.StatusGone && completed.Status != http.StatusNotFound {
		err = fmt.Errorf("the completion of an aborted upload was answered %s", completed)
	}
	return errors.Join(storeRefuses(answer, http.StatusNotFound, "NoSuchUpload"), err, u.notThere(ctx))
}

func otherWhole(ctx context.Context, u *partUpload) error {
	if err := u.sendAll(ctx); err != nil {
		return err
	}
	for api := range u.world.APIs() { // the first one reads the file, the others know
		answer, err := u.complete(ctx, api)
		if err == nil {
			err = answer.refuses(http.StatusUnprocessableEntity, "CHECKSUM_MISMATCH")
		}
		if err != nil {
			return err
		}
	}
	return u.notThere(ctx)
}

func completedTwice(ctx context.Context, u *partUpload) error {
	if err := u.sendAll(ctx); err != nil {
		return err
	}
	return u.succeeds(ctx)
}

// succeeds completes the upload many times at once, over all APIs: all say the same, and the file is right. An abort afterwards
// changes nothing.
func (u *partUpload) succeeds(ctx context.Context) error {
	answers := make([]Answer, repeatedCompletions)
	err := atOnce(len(answers), func(i int) (err error) {
		if answers[i], err = u.complete(ctx, i); err != nil {
			return err
		}
		return answers[i].read(nil, http.StatusOK)
	})
	if err != nil {
		return err
	}
	for _, answer := range answers {
		if !bytes.Equal(answer.Body, answers[0].Body) {
			return fmt.Errorf("two completions of one upload were answered %s and %s", answers[0], answer)
		}
	}
	return errors.Join(u.abort(ctx), u.right(ctx))
}

// right reads the file back.
func (u *partUpload) right(ctx context.Context) error {
	info, err := u.world.Objects().Measure(ctx, u.Key)
	digest := sha256.Sum256(u.content)
	if want := hex.EncodeToString(digest[:]); err == nil && (info.ByteSize != int64(len(u.content)) || info.SHA256 != want) {
		err = fmt.Errorf("the file has %d bytes and the digest %s, want %d and %s", info.ByteSize, info.SHA256, len(u.content),
			want)
	}
	return err
}

func partAfterwards(ctx context.Context, u *partUpload) error {
	signed, err := u.sign(ctx, 2)
	if err != nil {
		return err
	}
	if err := u.sendAll(ctx); err != nil {
		return err
	}
	if err := u.succeeds(ctx); err != nil {
		return err
	}
	answer, err := signed.put(ctx, bytes.Repeat([]byte{'x'}, lastPartBytes))
	if err != nil {
		return err
	}
	return errors.Join(storeRefuses(answer, http.StatusNotFound, "NoSuchUpload"), u.right(ctx))
}
