package chaos

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// victimKey is a file of an account that has nothing to do with the attempt.
	victimKey = "accounts/acct_victim/uploads/ligand.sdf"
	// victimText is what it holds.
	victimText = "a secret ligand"
)

// permitText is a permit as its holder can read it.
type permitText struct {
	Reads map[string]string `json:"reads"`
	URL   string            `json:"url"`
	Form  map[string]string `json:"form"`
}

// abusePermit claims an attempt as a worker may, and tries what its permit does not say.
func (v *villain) abusePermit(ctx context.Context, jobID string) error {
	if _, err := v.w.objects.Put(ctx, victimKey, strings.NewReader(victimText), "text/plain", ""); err != nil {
		return err
	}
	attempt, text, err := v.claim(ctx, jobID)
	if err != nil {
		return err
	}
	var inside permitText
	if err := json.Unmarshal(text, &inside); err != nil {
		return fmt.Errorf("the permit of %s: %w", attempt.TaskID, err)
	}
	prefix, err := prefixOf(inside, attempt)
	if err != nil {
		return err
	}
	if err := v.readOthers(ctx, inside); err != nil {
		return err
	}
	if err := v.writeElsewhere(ctx, inside, prefix); err != nil {
		return err
	}
	return v.unharmed(ctx, prefix)
}

// claim takes the claim and the permit of a job's first task, which waits for a worker.
func (v *villain) claim(ctx context.Context, jobID string) (attempt attemptRow, permit []byte, err error) {
	err = v.w.Eventually(ctx, "an attempt can be claimed", v.w.Bound(patience), func(ctx context.Context) (bool, error) {
		queued, err := v.w.queued(ctx, jobID)
		if err != nil || len(queued) == 0 {
			return false, err
		}
		attempt = queued[0]
		ref := queue.Ref{TaskID: attempt.TaskID, Attempt: attempt.Attempt}
		if waiting, err := v.w.queue.Waiting("cpu.probe", ref); err != nil || !waiting {
			return false, err
		}
		claim, text, err := v.queue.TakeClaim(ctx, "cpu.probe", ref)
		permit = text
		return !claim.IsZero(), err
	})
	return attempt, permit, err
}

// prefixOf is where the permit allows its holder to write, as its policy says.
func prefixOf(inside permitText, attempt attemptRow) (string, error) {
	policy, err := base64.StdEncoding.DecodeString(inside.Form["policy"])
	if err != nil {
		return "", fmt.Errorf("the permit's policy: %w", err)
	}
	_, rest, _ := strings.Cut(string(policy), `"$key","`)
	prefix, _, _ := strings.Cut(rest, `"`)
	if !strings.HasSuffix(prefix, fmt.Sprintf("/%s/%s/%d/", attempt.JobID, attempt.TaskID, attempt.Attempt)) {
		return "", fmt.Errorf("the permit of %s allows to write below %q", attempt.TaskID, prefix)
	}
	return prefix, nil
}

// readOthers tries to read what the permit does not name, with the signatures of what it names.
func (v *villain) readOthers(ctx context.Context, inside permitText) error {
	tries := []string{inside.URL + "/" + victimKey, inside.URL + "?list-type=2&prefix=accounts/"}
	for key, address := range inside.Reads {
		_, query, _ := strings.Cut(address, "?")
		tries = append(tries, inside.URL+"/"+victimKey+"?"+query, inside.URL+"/"+key+"/../../../../"+victimKey+"?"+query,
			inside.URL+"?list-type=2&"+query)
	}
	for _, address := range tries {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		request.Header.Set("X-Amz-Checksum-Mode", "ENABLED")
		status, told, err := answerOf(request)
		if err != nil {
			return err
		}
		if status < http.StatusBadRequest || strings.Contains(told, victimText) || strings.Contains(told, "<Key>") {
			return fmt.Errorf("a permit read another account's file: %d", status)
		}
		v.refused++
	}
	return nil
}

// writeElsewhere tries to write outside the attempt's prefix, and makes sure that the form is good for what it is for.
func (v *villain) writeElsewhere(ctx context.Context, inside permitText, prefix string) error {
	for _, try := range []struct {
		key     string
		allowed bool
	}{
		{prefix + "logs/mine.log", true}, {victimKey, false}, {prefix + "../../../../../acct_victim/uploads/ligand.sdf", false},
		{strings.Replace(prefix, "/1/", "/2/", 1) + "out", false}, {"other", false},
	} {
		status, told, err := v.post(ctx, inside, try.key)
		if err != nil {
			return err
		}
		if (status < http.StatusBadRequest) != try.allowed {
			return fmt.Errorf("a permit wrote %s: %d %.300s, want %v", try.key, status, told, try.allowed)
		}
		if !try.allowed {
			v.refused++
		}
	}
	return nil
}

// post sends the permit's form with a file.
func (v *villain) post(ctx context.Context, inside permitText, key string) (status int, told string, err error) {
	content := []byte("forged")
	sum := sha256.Sum256(content)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range inside.Form {
		err = errors.Join(err, form.WriteField(name, value))
	}
	for name, value := range map[string]string{"key": key, "Content-Type": "text/plain",
		"x-amz-checksum-sha256": base64.StdEncoding.EncodeToString(sum[:])} {
		err = errors.Join(err, form.WriteField(name, value))
	}
	file, fileErr := form.CreateFormFile("file", "file")
	if err := errors.Join(err, fileErr); err != nil {
		return 0, "", err
	}
	if _, err := file.Write(content); err != nil {
		return 0, "", err
	}
	if err := form.Close(); err != nil {
		return 0, "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, inside.URL, &body)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", form.FormDataContentType())
	return answerOf(request)
}

// unharmed expects the other account's file as it was, and of what was written the one that was allowed.
func (v *villain) unharmed(ctx context.Context, prefix string) error {
	text, _, err := v.w.objects.Tail(ctx, victimKey, 1<<10)
	if err != nil || string(text) != victimText {
		return fmt.Errorf("the other account's file is %q (%w)", text, err)
	}
	for info, err := range v.w.objects.List(ctx, prefix) {
		if err != nil {
			return err
		}
		if info.Key != prefix+"logs/mine.log" {
			return fmt.Errorf("a permit wrote %s", info.Key)
		}
	}
	if _, err := v.w.objects.Head(ctx, "other"); !errors.Is(err, object.ErrNotFound) {
		return fmt.Errorf("a permit wrote beside all accounts (%w)", err)
	}
	return nil
}

// answerOf sends a request and reads a short answer.
func answerOf(request *http.Request) (status int, told string, err error) {
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes))
	return answer.StatusCode, string(text), err
}
