package cli

import (
	"slices"
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
)

func TestLocalNames(t *testing.T) {
	t.Parallel()
	outputs := func(names ...string) (all []contract.Output) {
		for i, name := range names {
			all = append(all, contract.Output{Name: name, TaskIndex: i})
		}
		return all
	}
	tests := []struct {
		names []string
		want  []string // nil: refused
	}{
		{[]string{"results.json", "poses/00001.sdf"}, []string{"results.json", "poses/00001.sdf"}},
		{[]string{"log.txt", "Log.txt", "b"}, []string{"task-00000/log.txt", "task-00001/Log.txt", "b"}},
		{[]string{"a", "a", "task-00001/a"}, nil},
		{[]string{"../a"}, nil},
		{[]string{"a/../../b"}, nil},
		{[]string{"/etc/passwd"}, nil},
		{[]string{`..\a`}, nil},
		{[]string{""}, nil},
		{[]string{"a/.."}, nil},
	}
	for _, test := range tests {
		got, err := localNames(outputs(test.names...))
		if (err == nil) != (test.want != nil) || !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, %v; want %q", test.names, got, err, test.want)
		}
	}
}
