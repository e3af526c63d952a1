package order_test

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/object/order"
)

// give puts a line into this process' environment for the test's time.
func give(t *testing.T, line string) {
	t.Helper()
	name, value, _ := strings.Cut(line, "=")
	t.Setenv(name, value)
}

func TestOrderArrives(t *testing.T) {
	if _, given, err := order.Given(); given || err != nil {
		t.Fatalf("without an order: given %v, %v", given, err)
	}
	want := order.Order{Dir: "/a dir", Address: "127.0.0.1:1", Region: "r", AccessKey: "k", SecretKey: "s", HealthPath: "/h"}
	line, err := want.Environment()
	if err != nil {
		t.Fatal(err)
	}
	give(t, line)
	if got, given, err := order.Given(); got != want || !given || err != nil {
		t.Errorf("got %+v, %v, %v; want %+v", got, given, err, want)
	}
}

// TestForeignOrdersAreRefused: a server must not serve half of what it was told.
func TestForeignOrdersAreRefused(t *testing.T) {
	whole := order.Order{Dir: "/d", Address: "127.0.0.1:1", Region: "r", AccessKey: "k", SecretKey: "a secret",
		HealthPath: order.NewHealthPath()}
	line, err := whole.Environment()
	if err != nil {
		t.Fatal(err)
	}
	whole.Dir = ""
	nowhere, err := whole.Environment()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{nowhere, strings.Replace(line, `"dir"`, `"readOnly":true,"dir"`, 1),
		strings.TrimSuffix(line, "}"),
		line[:strings.Index(line, "=")+1]} {
		give(t, text)
		_, given, err := order.Given()
		if !given || err == nil || !strings.Contains(err.Error(), "same version") || strings.Contains(err.Error(), "a secret") {
			t.Errorf("%s: given %v, %v; want an error about the version, without the secret", text, given, err)
		}
	}
}
