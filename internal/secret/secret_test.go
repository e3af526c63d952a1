package secret

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestRing(t *testing.T) {
	t.Parallel()
	first, second := bytes.Repeat([]byte("a"), MinBytes), bytes.Repeat([]byte("b"), MinBytes)
	r, err := NewRing(first, second, first, second)
	if err != nil || len(r.All()) != 2 || !bytes.Equal(r.Sealing(), first) || r.IDs()[0] != r.ID() || r.IDs()[0] == r.IDs()[1] {
		t.Fatalf("got %v, %v", r, err)
	}
	turned, err := NewRing(second, first)
	if err != nil || turned.ID() != r.IDs()[1] {
		t.Errorf("an id depends on the order: %v, %v, %v", r, turned, err)
	}
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(form, r); strings.Contains(text, "aaaa") || strings.Contains(text, "61 61") ||
			strings.Contains(text, "97 97") {
			t.Errorf("%s shows the secret: %s", form, text)
		}
	}
	keys, err := r.Derive("purpose")
	other, _ := turned.Derive("purpose")
	if err != nil || len(keys) != 2 || !bytes.Equal(keys[0], other[1]) || bytes.Equal(keys[0], keys[1]) {
		t.Errorf("derived %x, %x, %v", keys, other, err)
	}
	short := []byte("correct horse")
	if _, err := NewRing(short); err == nil || !strings.Contains(err.Error(), "the secret that seals has 13 bytes") {
		t.Errorf("a short secret: %v", err)
	}
	if _, err := NewRing(first, second, short); err == nil || strings.Contains(err.Error(), "horse") ||
		!strings.Contains(err.Error(), "secret 2") {
		t.Errorf("a short second one: %v", err)
	}
	if !(Ring{}).IsZero() || r.IsZero() {
		t.Error("IsZero is wrong")
	}
}
