package probe

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
)

const (
	gibibyte = 1 << 30
	// mostSeconds bounds waiting and computing; the time limit of a task lies above both.
	mostSeconds = 3600
	// mostBytes is beyond what a task may hold or write, so that the caps can be met.
	mostBytes = 4 * gibibyte
)

// options is what a job asks of its tasks.
type options struct {
	tasks       int64
	gather      bool
	seconds     float64
	cpuSeconds  int64
	memoryBytes int64
	outputBytes int64
	failEvery   int64
	failClass   engines.FailureClass
}

// parse reads a job's parameters. It returns an *engines.InvalidError.
func parse(parameters map[string]string) (options, error) {
	o := options{tasks: 1, failClass: engines.Executor}
	readers := map[string]func(string) error{
		"Tasks":       whole(&o.tasks, 1, engines.MaxShards-1), // one is left for Gather
		"CPUSeconds":  whole(&o.cpuSeconds, 0, mostSeconds),
		"MemoryBytes": whole(&o.memoryBytes, 0, mostBytes),
		"OutputBytes": whole(&o.outputBytes, 0, mostBytes),
		"FailEvery":   whole(&o.failEvery, 0, engines.MaxShards),
		"Seconds": func(text string) (err error) {
			o.seconds, err = strconv.ParseFloat(text, 64)
			if err != nil || math.IsNaN(o.seconds) || o.seconds < 0 || o.seconds > mostSeconds {
				return fmt.Errorf("is %q; it must be a number from 0 to %d", text, mostSeconds)
			}
			return nil
		},
		"Gather": func(text string) (err error) {
			if o.gather, err = strconv.ParseBool(text); err != nil {
				return fmt.Errorf("is %q; it must be true or false", text)
			}
			return nil
		},
		"FailClass": func(text string) error {
			o.failClass = engines.FailureClass(text)
			if o.failClass != engines.UserInput && o.failClass != engines.Executor {
				return fmt.Errorf("is %q; it must be %s or %s", text, engines.UserInput, engines.Executor)
			}
			return nil
		},
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		read, known := readers[name]
		if !known {
			return options{}, invalid(name, fmt.Errorf("is no parameter of the probe; there are %s",
				strings.Join(slices.Sorted(maps.Keys(readers)), ", ")))
		}
		if err := read(parameters[name]); err != nil {
			return options{}, invalid(name, err)
		}
	}
	if o.gather && o.outputBytes == 0 {
		return options{}, invalid("Gather", fmt.Errorf("needs OutputBytes above 0: there would be nothing to gather"))
	}
	return o, nil
}

// whole reads a whole number in bounds.
func whole(into *int64, least, most int64) func(string) error {
	return func(text string) (err error) {
		*into, err = strconv.ParseInt(text, 10, 64)
		if err != nil || *into < least || *into > most {
			return fmt.Errorf("is %q; it must be a whole number from %d to %d", text, least, most)
		}
		return nil
	}
}

func invalid(name string, err error) error {
	return &engines.InvalidError{Field: "parameters." + name, Message: err.Error()}
}
