package uploads

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
)

// full is the smallest part that is not the last; a file of it and tail has two parts.
var full = strings.Repeat("ATOM", object.MinPartBytes/4)

const tail = "END"

func base64Of(t *testing.T, text string) string {
	t.Helper()
	raw, err := hex.DecodeString(digest(text))
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// begin begins an upload with the members that a request needs.
func begin(t *testing.T, s *Service, account string, request contract.MultipartInitRequest) contract.MultipartInitResponse {
	t.Helper()
	request.Filename, request.ContentType = "trajectory.dcd", "application/octet-stream"
	begun, err := s.Init(t.Context(), account, request)
	if err != nil {
		t.Fatal(err)
	}
	return begun
}

// twoParts is a request for a file of full and tail.
func twoParts() contract.MultipartInitRequest {
	return contract.MultipartInitRequest{Size: int64(len(full) + len(tail)), PartSize: 1}
}

// sendPart puts a part and returns the store's status and ETag.
func sendPart(t *testing.T, url string, headers map[string]string, body string) (status int, etag string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode, response.Header.Get("ETag")
}

// sendAll puts the parts of an upload without checksums and returns the list for its completion.
func sendAll(t *testing.T, begun contract.MultipartInitResponse, bodies ...string) contract.MultipartCompleteRequest {
	t.Helper()
	if len(begun.Parts) != len(bodies) {
		t.Fatalf("got %d part URLs, want %d", len(begun.Parts), len(bodies))
	}
	var request contract.MultipartCompleteRequest
	for i, body := range bodies {
		status, etag := sendPart(t, begun.Parts[i].URL, begun.Headers, body)
		if status != http.StatusOK {
			t.Fatalf("PUT of part %d answered %d", i+1, status)
		}
		request.Parts = append(request.Parts, contract.UploadPartDone{PartNumber: i + 1, ETag: etag})
	}
	return request
}

// listed is a completion that lists parts and nothing else of them.
func listed(numbers ...int) contract.MultipartCompleteRequest {
	var request contract.MultipartCompleteRequest
	for _, number := range numbers {
		request.Parts = append(request.Parts, contract.UploadPartDone{PartNumber: number})
	}
	return request
}

// Owned is OwnedAll for one file. Errors: fault.NotFound, alike for an unknown key, another account's, and a file that has not
// arrived.
func (s *Service) Owned(ctx context.Context, accountID, storageKey string) (engines.Object, error) {
	found, err := s.OwnedAll(ctx, accountID, []string{storageKey})
	if err != nil {
		return engines.Object{}, err
	}
	file, ok := found[storageKey]
	if !ok {
		return engines.Object{}, fault.New(fault.NotFound, "storageKey: this account has no stored file with this key")
	}
	return file, nil
}
