package python

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
)

// Probe runs a Python text that prints, as its last line, a JSON object of program → version. judge refuses an installation that
// must not be used. wayOut ends the error of one that prints no versions; where it is "", what was printed does.
func Probe(text, wayOut string, judge func(versions map[string]string) error, arguments ...string) engines.Probe {
	check := func(stdout []byte) (map[string]string, error) {
		lines := strings.Split(strings.TrimSpace(string(stdout)), "\n")
		var versions map[string]string
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &versions); err != nil {
			if wayOut == "" {
				return nil, fmt.Errorf("the probe printed no versions: %.200q", stdout)
			}
			return nil, errors.New("the probe printed no versions; " + wayOut)
		}
		if err := judge(versions); err != nil {
			return nil, err
		}
		return versions, nil
	}
	return engines.Probe{Argv: append([]string{"python", "-c", text}, arguments...), Check: check}
}

// Needed is a program that an installation must have, and what to do where it is missing.
type Needed struct{ Program, WayOut string }

// Missing says what to do about the first program that the probe has not found.
func Missing(versions map[string]string, needed []Needed) error {
	for _, part := range needed {
		if versions[part.Program] == "" {
			return errors.New(part.WayOut)
		}
	}
	return nil
}

// AtLeast compares dotted versions ("8.3.1", "2.12.0+") number by number; what is not a number counts as 0.
func AtLeast(version, oldest string) bool {
	have, need := strings.Split(strings.TrimSuffix(version, "+"), "."), strings.Split(oldest, ".")
	for i := range need {
		var h, n int
		if i < len(have) {
			h, _ = strconv.Atoi(have[i])
		}
		n, _ = strconv.Atoi(need[i])
		if h != n {
			return h > n
		}
	}
	return true
}
