package main

import "testing"

// TestNothingIsServedByHand: without an order, or with arguments, the program says what it is and ends.
func TestNothingIsServedByHand(t *testing.T) {
	for _, one := range []struct {
		arguments []string
		order     string
		want      int
	}{
		{nil, "", 2},
		{[]string{"serve"}, "", 2},
		{[]string{"--version", "please"}, "", 2},
		{[]string{"--version"}, "", 0},
		{[]string{"--help"}, "", 0},
		{nil, `{"made":"by another version"}`, 1},
	} {
		if one.order != "" {
			t.Setenv("MOLFABRIC_S3_ORDER", one.order)
		}
		if got := run(one.arguments); got != one.want {
			t.Errorf("%q with the order %q: exit status %d, want %d", one.arguments, one.order, got, one.want)
		}
	}
}
