package object_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/object"
)

// TestWhatTheStoreKeepsHoldsUpNothing: an object that the store refuses to delete is named, and the requests after it are made.
func TestWhatTheStoreKeepsHoldsUpNothing(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		w.Header().Set("Content-Type", "application/xml")
		if strings.Contains(string(body), "<Key>key-0001</Key>") {
			fmt.Fprint(w,
				`<DeleteResult><Error><Key>key-0001</Key><Code>AccessDenied</Code><Message>it is held</Message></Error></DeleteResult>`)
			return
		}
		fmt.Fprint(w, `<DeleteResult></DeleteResult>`)
	}))
	t.Cleanup(server.Close)
	store, err := object.New(object.Config{Endpoint: server.URL, Region: "us-east-1", Bucket: "b", AccessKey: "a", SecretKey: "s"})
	if err != nil {
		t.Fatal(err)
	}
	keys := make([]string, 1500)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%04d", i)
	}
	var left *object.UndeletedError
	if err := store.DeleteAll(t.Context(), keys); !errors.As(err, &left) || !slices.Equal(left.Keys, keys[1:2]) ||
		left.Code != "AccessDenied" {
		t.Errorf("got %v, want that of %s", err, keys[1])
	}
	if len(asked) != 2 || !strings.Contains(asked[1], keys[1499]) {
		t.Errorf("%d requests were made, want two", len(asked))
	}
}
