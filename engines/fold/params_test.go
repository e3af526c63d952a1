package fold

import "testing"

func TestCheck(t *testing.T) {
	t.Parallel()
	model := func(name string) Params { return Params{Model: &name} }
	for _, c := range []struct {
		simulator string
		params    Params
		ok        bool
	}{
		{IDESMFold, Params{}, true},
		{IDESMFold, model(IDESMFold), true},
		{IDAlphaFold, model(IDAlphaFold), true},
		{IDESMFold, model(IDAlphaFold), false},
		{IDAlphaFold, model(IDESMFold), false},
	} {
		if err := c.params.Check(c.simulator); (err == nil) != c.ok {
			t.Errorf("%s with %v: got %v, want accepted %v", c.simulator, c.params.Model, err, c.ok)
		}
	}
}
