// Package order is what the process that starts an S3 server and the server agree on. It holds neither of them: so the program that
// starts it has nothing of the server's, and the server nothing of the program's.
package order

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// env is the environment variable with the order, in JSON. The order holds a secret, and only a process' own user and root can read
// its environment, while all can read its command line.
const env = "MOLFABRIC_S3_ORDER"

// Order tells an S3 server what to serve.
type Order struct {
	Dir       string `json:"dir"`     // for objects and their metadata
	Address   string `json:"address"` // host:port to listen on
	Region    string `json:"region"`
	AccessKey string `json:"accessKey"`
	SecretKey string `json:"secretKey"`
	// HealthPath answers 200 without credentials when the server is ready. It is another one at each start, so that nobody else who
	// listens on the address is taken for the server.
	HealthPath string `json:"healthPath"`
}

// NewHealthPath is a path that only the server of one start knows. No bucket can have its name.
func NewHealthPath() string { return "/healthz_" + rand.Text() }

// Environment is the line of a process' environment that gives it the order.
func (o Order) Environment() (string, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return "", fmt.Errorf("write the order of an S3 server: %w", err)
	}
	return env + "=" + string(text), nil
}

// Given is the order that this process was started with; given is false when there is none. An order with more than this program
// knows, or without what it needs, is an error: another version wrote it, and what it asks for would not be done.
func Given() (o Order, given bool, err error) {
	text, given := os.LookupEnv(env)
	if !given {
		return Order{}, false, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil {
		return Order{}, true, fmt.Errorf("%s: %w; who starts the server must be of the same version", env, err)
	}
	for _, member := range []struct{ name, value string }{{"dir", o.Dir}, {"address", o.Address}, {"region", o.Region},
		{"accessKey", o.AccessKey}, {"secretKey", o.SecretKey}, {"healthPath", o.HealthPath}} {
		if member.value == "" {
			return Order{}, true, fmt.Errorf("%s: %s is missing; who starts the server must be of the same version", env,
				member.name)
		}
	}
	return o, true, nil
}
