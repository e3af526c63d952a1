package uploads

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
)

func TestMultipartFromStartToUse(t *testing.T) { onEach(t, testMultipartFromStartToUse) }

func testMultipartFromStartToUse(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	begun := begin(t, s, account, twoParts())
	if begun.PartSize != object.MinPartBytes || begun.PartCount != 2 || len(begun.Headers) != 0 || begun.ExpiresIn != 3600 ||
		begun.Provider != "s3" || begun.ChecksumAlgorithm != nil || !strings.HasPrefix(begun.Key,
		namespace(account)+begun.UploadID) {
		t.Errorf("Init = %+v", begun)
	}
	if status, _ := sendPart(t, begun.Parts[1].URL, nil, tail); status != http.StatusOK { // in any order
		t.Fatalf("PUT answered %d", status)
	}
	status, err := s.Status(t.Context(), account, begun.UploadID)
	if err != nil || status.Complete || len(status.Received) != 1 || status.Received[0].PartNumber != 2 ||
		status.Received[0].Size != int64(len(tail)) || !slices.Equal(status.Missing, []int{1}) {
		t.Errorf("Status = %+v, %v; want part 2 there and part 1 missing", status, err)
	}
	if _, err := s.Complete(t.Context(), account, begun.UploadID, listed(1, 2)); !fault.Is(err, fault.UploadIncomplete) ||
		!strings.Contains(err.Error(), "1 of 2 are not there in full, the first: 1") {
		t.Errorf("Complete too early = %v, want %s that names part 1", err, fault.UploadIncomplete)
	}
	if _, err := s.Owned(t.Context(), account, begun.Key); !fault.Is(err, fault.NotFound) {
		t.Errorf("Owned before completion = %v, want %s", err, fault.NotFound)
	}
	request := sendAll(t, begun, full, tail)
	first, err := s.Complete(t.Context(), account, begun.UploadID, request)
	if err != nil || first.Key != begun.Key || first.Size != int64(len(full)+len(tail)) || !first.Verified ||
		first.Integrity != "size" || first.ETag == "" {
		t.Fatalf("Complete = %+v, %v", first, err)
	}
	if again, err := s.Complete(t.Context(), account, begun.UploadID, listed(1)); err != nil || again != first {
		t.Errorf("Complete again = %+v, %v; want %+v", again, err, first)
	}
	file, err := s.Owned(t.Context(), account, begun.Key)
	if err != nil || file.ByteSize != first.Size || file.SHA256 != "" {
		t.Errorf("Owned = %+v, %v", file, err)
	}
	if err := s.Abort(t.Context(), account, begun.UploadID); err != nil {
		t.Errorf("Abort of a completed upload = %v, want nil", err)
	}
	status, err = s.Status(t.Context(), account, begun.UploadID)
	if err != nil || !status.Complete || len(status.Received) != 2 || status.Received[0].ETag != strings.Trim(request.Parts[0].ETag,
		`"`) || len(status.Missing) != 0 {
		t.Errorf("Status after completion = %+v, %v", status, err)
	}
	if _, err := s.Owned(t.Context(), account, begun.Key); err != nil {
		t.Errorf("Owned after an abort that came too late = %v", err)
	}
}

func TestChecksumMode(t *testing.T) { onEach(t, testChecksumMode) }

func testChecksumMode(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	request := twoParts()
	request.ChecksumAlgorithm, request.SHA256 = "sha256", strings.ToUpper(digest(full+tail))
	begun := begin(t, s, account, request)
	if len(begun.Parts) != 0 || begun.Parts == nil || begun.ChecksumAlgorithm == nil || *begun.ChecksumAlgorithm != "sha256" {
		t.Fatalf("Init = %+v, want no part URLs", begun)
	}
	asked := contract.PartURLsRequest{Parts: []contract.UploadPartRequest{
		{PartNumber: 2, ChecksumSHA256: base64Of(t, tail)}, {PartNumber: 1, ChecksumSHA256: base64Of(t, full)},
	}}
	signed, err := s.SignParts(t.Context(), account, begun.UploadID, asked)
	if err != nil || len(signed.Parts) != 2 || signed.Parts[0].PartNumber != 2 ||
		signed.Parts[0].Headers["X-Amz-Checksum-Sha256"] != base64Of(t, tail) {
		t.Fatalf("SignParts = %+v, %v", signed, err)
	}
	if status, _ := sendPart(t, signed.Parts[0].URL, signed.Parts[0].Headers, "DNE"); status < 400 || status > 499 {
		t.Errorf("PUT of other bytes answered %d, want a refusal", status)
	}
	for i, body := range []string{tail, full} {
		if status, _ := sendPart(t, signed.Parts[i].URL, signed.Parts[i].Headers, body); status != http.StatusOK {
			t.Fatalf("PUT answered %d", status)
		}
	}
	done := contract.MultipartCompleteRequest{Parts: []contract.UploadPartDone{{PartNumber: 1, ChecksumSHA256: base64Of(t, full)},
		{PartNumber: 2, ChecksumSHA256: base64Of(t, "DNE")}}}
	if _, err := s.Complete(t.Context(), account, begun.UploadID, done); !fault.Is(err, fault.ChecksumMismatch) ||
		!strings.Contains(err.Error(), "parts[1].checksumSha256") {
		t.Errorf("Complete with another checksum = %v, want %s", err, fault.ChecksumMismatch)
	}
	done.Parts[1].ChecksumSHA256 = base64Of(t, tail)
	answer, err := s.Complete(t.Context(), account, begun.UploadID, done)
	if err != nil || answer.Integrity != "parts-sha256" || !answer.Verified {
		t.Fatalf("Complete = %+v, %v", answer, err)
	}
	if file, err := s.Owned(t.Context(), account, begun.Key); err != nil || file.SHA256 != digest(full+tail) {
		t.Errorf("Owned = %+v, %v; want the file's SHA-256", file, err)
	}
}

func TestWholeFileIsVerified(t *testing.T) { onEach(t, testWholeFileIsVerified) }

func testWholeFileIsVerified(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	for _, c := range []struct {
		name, atStart, atEnd string
		want                 fault.Code
	}{
		{"right at the start", digest(tail), "", ""},
		{"right at the end", "", strings.ToUpper(digest(tail)), ""},
		{"right twice", strings.ToUpper(digest(tail)), digest(tail), ""},
		{"wrong at the start", digest("DNE"), "", fault.ChecksumMismatch},
		{"wrong at the end", "", digest("DNE"), fault.ChecksumMismatch},
		{"two that differ", digest(tail), digest("DNE"), fault.Validation},
	} {
		begun := begin(t, s, account, contract.MultipartInitRequest{Size: int64(len(tail)), SHA256: c.atStart})
		request := sendAll(t, begun, tail)
		request.SHA256 = c.atEnd
		for _, try := range []string{"first", "second"} {
			answer, err := s.Complete(t.Context(), account, begun.UploadID, request)
			if c.want == "" && (err != nil || answer.Integrity != "size") || c.want != "" && !fault.Is(err, c.want) {
				t.Errorf("%s, %s try: Complete = %+v, %v; want %q", c.name, try, answer, err, c.want)
			}
		}
		file, err := s.Owned(t.Context(), account, begun.Key)
		if c.want == "" && (err != nil || file.SHA256 != digest(tail)) || c.want != "" && !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: Owned = %+v, %v", c.name, file, err)
		}
		if c.want != fault.ChecksumMismatch {
			continue
		}
		if _, err := s.objects.Head(t.Context(), begun.Key); err == nil {
			t.Errorf("%s: the wrong object is still there", c.name)
		}
		if _, err := s.Status(t.Context(), account, begun.UploadID); !fault.Is(err, fault.UploadExpired) {
			t.Errorf("%s: Status = %v, want %s", c.name, err, fault.UploadExpired)
		}
	}
}

func TestBadCompletionsAreRefused(t *testing.T) { onEach(t, testBadCompletionsAreRefused) }

func testBadCompletionsAreRefused(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	begun := begin(t, s, account, twoParts())
	request := sendAll(t, begun, full, tail)
	stale := slices.Clone(request.Parts)
	stale[0].ETag = `"0123456789abcdef0123456789abcdef"`
	for _, c := range []struct {
		name  string
		parts []contract.UploadPartDone
		want  fault.Code
		says  string
	}{
		{"wrong order", listed(2, 1).Parts, fault.Validation, "parts[1].partNumber"},
		{"a part twice", listed(1, 1).Parts, fault.Validation, "parts[1].partNumber"},
		{"beyond the last", listed(1, 2, 3).Parts, fault.Validation, "parts[2].partNumber: is 3"},
		{"one left out", listed(2).Parts, fault.UploadIncomplete, "1 of 2 are not listed, the first: 1"},
		{"a checksum in the plain mode", []contract.UploadPartDone{{PartNumber: 1, ChecksumSHA256: base64Of(t, full)},
			{PartNumber: 2}},
			fault.Validation, "parts[0].checksumSha256: is not allowed"},
		{"the ETag of an earlier PUT", stale, fault.Validation, "parts[0].etag"},
	} {
		request := contract.MultipartCompleteRequest{Parts: c.parts}
		if _, err := s.Complete(t.Context(), account, begun.UploadID, request); !fault.Is(err, c.want) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: Complete = %v, want %s with %q", c.name, err, c.want, c.says)
		}
	}
	// A short part never gets in: its length is signed.
	if status, _ := sendPart(t, begun.Parts[1].URL, nil, tail[1:]); status < 400 || status > 499 {
		t.Errorf("PUT of a short part answered %d, want a refusal", status)
	}
	if _, err := s.Complete(t.Context(), account, begun.UploadID, request); err != nil {
		t.Errorf("after the refusals: Complete = %v", err)
	}
}

func TestPartURLsAreChecked(t *testing.T) {
	t.Parallel()
	m := multipart{PartCount: 3, PartBytes: object.MinPartBytes, ByteSize: 11 << 20}
	guarded := m
	guarded.Checksummed = true
	sum := base64Of(t, tail)
	for _, c := range []struct {
		m        multipart
		number   int
		checksum string
		want     string
	}{
		{m, 1, "", ""},
		{m, 3, "", ""},
		{m, 4, "", "parts[7].partNumber: is 4"},
		{m, 1, sum, "parts[7].checksumSha256: is not allowed"},
		{guarded, 1, sum, ""},
		{guarded, 1, "", "parts[7].checksumSha256: is required"},
		{guarded, 1, sum[:43] + "A", "parts[7].checksumSha256: must be the base64"},
		{guarded, 1, strings.Repeat("A", 42) + "B=", "parts[7].checksumSha256: must be the base64"},
	} {
		err := c.m.checkPart(7, c.number, c.checksum)
		if c.want == "" && err != nil || c.want != "" && (!fault.Is(err, fault.Validation) ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("part %d with %q = %v, want %q", c.number, c.checksum, err, c.want)
		}
	}
}

func TestStalePartURLIsMintedAnew(t *testing.T) { onEach(t, testStalePartURLIsMintedAnew) }

func testStalePartURLIsMintedAnew(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	begun := begin(t, s, account, contract.MultipartInitRequest{Size: 4})
	other := begin(t, s, account, contract.MultipartInitRequest{Size: 4})
	if err := s.Abort(t.Context(), account, other.UploadID); err != nil {
		t.Fatal(err)
	}
	if status, _ := sendPart(t, other.Parts[0].URL, nil, "ATOM"); status != http.StatusNotFound {
		t.Errorf("PUT to an aborted upload answered %d, want 404", status)
	}
	signed, err := s.SignParts(t.Context(), account, begun.UploadID,
		contract.PartURLsRequest{Parts: []contract.UploadPartRequest{{PartNumber: 1}}})
	if err != nil || len(signed.Parts) != 1 || len(signed.Parts[0].Headers) != 0 {
		t.Fatalf("SignParts = %+v, %v", signed, err)
	}
	if status, _ := sendPart(t, signed.Parts[0].URL, nil, "ATOM"); status != http.StatusOK {
		t.Errorf("PUT to the new URL answered %d", status)
	}
	twice := contract.PartURLsRequest{Parts: []contract.UploadPartRequest{{PartNumber: 1}, {PartNumber: 1}}}
	if _, err := s.SignParts(t.Context(), account, begun.UploadID, twice); !fault.Is(err, fault.Validation) ||
		!strings.Contains(err.Error(), "parts[1].partNumber") {
		t.Errorf("SignParts of one part twice = %v, want %s", err, fault.Validation)
	}
}

func TestInitHoldsOnePage(t *testing.T) { onEach(t, testInitHoldsOnePage) }

func testInitHoldsOnePage(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	begun := begin(t, s, account, contract.MultipartInitRequest{Size: 5<<40 - 1, PartSize: 1 << 30})
	if begun.PartCount != 5120 || len(begun.Parts) != pageParts || begun.Parts[999].PartNumber != 1000 {
		t.Errorf("Init gave %d parts and %d URLs", begun.PartCount, len(begun.Parts))
	}
	signed, err := s.SignParts(t.Context(), account, begun.UploadID,
		contract.PartURLsRequest{Parts: []contract.UploadPartRequest{{PartNumber: 5120}}})
	if err != nil || len(signed.Parts) != 1 {
		t.Errorf("SignParts of the last = %+v, %v", signed, err)
	}
	status, err := s.Status(t.Context(), account, begun.UploadID)
	if err != nil || len(status.Missing) != 5120 || status.Received == nil || len(status.Received) != 0 {
		t.Errorf("Status says %d missing, %v", len(status.Missing), err)
	}
	_, err = s.Complete(t.Context(), account, begun.UploadID, listed(5120))
	if !fault.Is(err, fault.UploadIncomplete) || !strings.Contains(err.Error(),
		"5119 of 5120 are not listed, the first: 1, 2, 3, 4, 5") {
		t.Errorf("Complete = %v", err)
	}
}

func TestConcurrentCompletionsAnswerTheSame(t *testing.T) { onEach(t, testConcurrentCompletions) }

func testConcurrentCompletions(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	request := twoParts()
	request.SHA256 = digest(full + tail)
	begun := begin(t, s, account, request)
	done := sendAll(t, begun, full, tail)
	other := New(db, s.objects, time.Now) // another instance of the API
	var group sync.WaitGroup
	answers, errs := make([]contract.MultipartCompleteResponse, 12), make([]error, 12)
	for i := range answers {
		instance := []*Service{s, other}[i%2]
		group.Go(func() { answers[i], errs[i] = instance.Complete(t.Context(), account, begun.UploadID, done) })
	}
	group.Wait()
	for i := range answers {
		if errs[i] != nil || answers[i] != answers[0] || !answers[i].Verified {
			t.Errorf("completion %d = %+v, %v; want %+v", i, answers[i], errs[i], answers[0])
		}
	}
}

// TestAnotherInstanceFinishes begins where an instance died: after the store made the object, before the database knew.
func TestAnotherInstanceFinishes(t *testing.T) { onEach(t, testAnotherInstanceFinishes) }

func testAnotherInstanceFinishes(t *testing.T, s *Service, db *sqlx.DB) {
	account := newAccount(t, db)
	for _, c := range []struct {
		name, sha string
		want      fault.Code
	}{{"the right file", digest(full + tail), ""}, {"another file", digest(tail), fault.ChecksumMismatch}} {
		request := twoParts()
		request.SHA256 = c.sha
		begun := begin(t, s, account, request)
		done := sendAll(t, begun, full, tail)
		m, err := s.store.multipart(t.Context(), account, begun.UploadID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.assemble(t.Context(), &m, done); err != nil {
			t.Fatal(err)
		}
		if status, err := s.Status(t.Context(), account, begun.UploadID); err != nil || status.Complete ||
			len(status.Received) != 2 {
			t.Errorf("%s: Status = %+v, %v; want both parts, not complete", c.name, status, err)
		}
		if _, err := s.Owned(t.Context(), account, begun.Key); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: Owned = %v, want %s", c.name, err, fault.NotFound)
		}
		answer, err := s.Complete(t.Context(), account, begun.UploadID, done)
		if c.want == "" && (err != nil || answer.Size != request.Size) || c.want != "" && !fault.Is(err, c.want) {
			t.Errorf("%s: Complete = %+v, %v; want %q", c.name, answer, err, c.want)
		}
	}
}

func TestForeignUploadIsUnknown(t *testing.T) { onEach(t, testForeignUploadIsUnknown) }

func testForeignUploadIsUnknown(t *testing.T, s *Service, db *sqlx.DB) {
	mine, theirs := newAccount(t, db), newAccount(t, db)
	begun := begin(t, s, theirs, contract.MultipartInitRequest{Size: 4})
	ended := begin(t, s, mine, contract.MultipartInitRequest{Size: 4})
	if err := s.Abort(t.Context(), mine, ended.UploadID); err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(uploadID string) error{
		"Status": func(id string) error { _, err := s.Status(t.Context(), mine, id); return err },
		"SignParts": func(id string) error {
			_, err := s.SignParts(t.Context(), mine, id,
				contract.PartURLsRequest{Parts: []contract.UploadPartRequest{{PartNumber: 9}}})
			return err
		},
		"Complete": func(id string) error { _, err := s.Complete(t.Context(), mine, id, listed(9)); return err },
		"Abort":    func(id string) error { return s.Abort(t.Context(), mine, id) },
	}
	for name, call := range calls {
		unknown := call("upl_0")
		if foreign := call(begun.UploadID); !fault.Is(unknown, fault.NotFound) || foreign == nil ||
			foreign.Error() != unknown.Error() {
			t.Errorf("%s: unknown %v, foreign %v; want the same %s", name, unknown, foreign, fault.NotFound)
		}
		aborted := call(ended.UploadID)
		if name == "Abort" && aborted != nil || name != "Abort" && (aborted == nil || aborted.Error() != unknown.Error()) {
			t.Errorf("%s of an aborted upload = %v", name, aborted)
		}
	}
	if status, _ := sendPart(t, begun.Parts[0].URL, nil, "ATOM"); status != http.StatusOK {
		t.Errorf("after strangers' calls the owner's PUT answered %d", status)
	}
}
