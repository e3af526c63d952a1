package projects

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/strictjson"
	"github.com/molfabric/molfabric/internal/fault"
)

const (
	versionMember = "expectedVersion"
	keyHeader     = "Idempotency-Key"
	// maxVersion is the largest integer that every JSON reader keeps exact.
	maxVersion = 1<<53 - 1
	// maxDeleteBody bounds the body of a DELETE, which holds expectedVersion alone.
	maxDeleteBody = 1 << 10
	// deleteBodyWait bounds its arrival.
	deleteBodyWait = 10 * time.Second
)

// precondition judges, before the schema does, what a change of a project must carry: both have error codes of their own. The
// version may stand in the body, in the query or in If-Match (an ETag of the project, of which the version counts); the
// operation finds it where its schema says.
type precondition struct{ api huma.API }

// keyed asks for an Idempotency-Key.
func (p precondition) keyed(ctx huma.Context, next func(huma.Context)) {
	if ctx.Header(keyHeader) == "" {
		p.fail(ctx, fault.New(fault.IdempotencyKeyRequired, "%s: this operation needs the header, 8 to 255 characters that are "+
			"new for every new request", keyHeader))
		return
	}
	next(ctx)
}

// inBody serves operations whose schema has the version in the body, which bodyGate has read and bounded.
func (p precondition) inBody(ctx huma.Context, next func(huma.Context)) {
	raw, err := io.ReadAll(ctx.BodyReader())
	if err != nil {
		p.fail(ctx, err)
		return
	}
	var members map[string]json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &members) != nil {
		next(versioned{humaContext: ctx, body: raw}) // no object: the schema says so
		return
	}
	version, err := expectedVersion(ctx, members[versionMember])
	if err != nil {
		p.fail(ctx, err)
		return
	}
	if members[versionMember] == nil {
		raw = withVersion(raw, len(members) > 0, version)
	}
	next(versioned{humaContext: ctx, body: raw, version: version})
}

// inQuery serves operations whose schema has the version in the query. A body of theirs is read here alone.
func (p precondition) inQuery(ctx huma.Context, next func(huma.Context)) {
	member, err := deleteBody(ctx)
	if err != nil {
		p.fail(ctx, err)
		return
	}
	version, err := expectedVersion(ctx, member)
	if err != nil {
		p.fail(ctx, err)
		return
	}
	next(versioned{humaContext: ctx, version: version})
}

func (p precondition) fail(ctx huma.Context, err error) {
	_ = huma.WriteErr(p.api, ctx, 500, "", err) // the caller has gone: huma has told the log
}

// deleteBody returns the version in the body of a DELETE, or nil.
func deleteBody(ctx huma.Context) (json.RawMessage, error) {
	reader := ctx.BodyReader()
	if reader == nil {
		return nil, nil
	}
	if err := ctx.SetReadDeadline(time.Now().Add(deleteBodyWait)); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(reader, maxDeleteBody+1))
	switch {
	case err != nil:
		return nil, fault.Wrap(err, fault.Validation, "the body ended before its announced length")
	case len(raw) > maxDeleteBody:
		return nil, fault.New(fault.PayloadTooLarge, "the body is larger than %d bytes", maxDeleteBody)
	case len(raw) == 0:
		return nil, nil
	}
	if _, err := strictjson.Check(raw); err != nil {
		return nil, fault.New(fault.Validation, "%s", err.Error())
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, fault.New(fault.Validation, "the body must be an object")
	}
	for name := range members {
		if name != versionMember {
			return nil, fault.New(fault.Validation, "the body of this operation holds %s alone", versionMember)
		}
	}
	return members[versionMember], nil
}

// expectedVersion is the one version that a request names, wherever it stands. Errors: fault.InvalidExpectedVersion when it is
// nowhere, is no positive integer, or differs between two places.
func expectedVersion(ctx huma.Context, member json.RawMessage) (int64, error) {
	var found []int64
	add := func(version int64, err error) error {
		found = append(found, version)
		return err
	}
	if member != nil {
		if err := add(wholeNumber(string(member))); err != nil {
			return 0, err
		}
	}
	url := ctx.URL()
	for _, text := range url.Query()[versionMember] {
		if err := add(decimal(text)); err != nil {
			return 0, err
		}
	}
	for _, tag := range tagsOf(ctx.Header("If-Match")) {
		if err := add(versionOfTag(tag)); err != nil {
			return 0, err
		}
	}
	switch found = slices.Compact(found); len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, invalidVersion("is required")
	default:
		return 0, invalidVersion("differs between body, query and If-Match; send it once")
	}
}

var (
	positive = regexp.MustCompile(`^[1-9][0-9]{0,15}$`)
	// versionTag is an ETag of a project or a revision, or a bare version in quotes. A proxy that compresses makes it weak.
	versionTag = regexp.MustCompile(`^(?:W/)?"([1-9][0-9]{0,15})(?:-[0-9a-f]+)?"$`)
)

// wholeNumber reads a JSON value. 3.0 and 3e0 are the integer 3, as in every body.
func wholeNumber(literal string) (int64, error) {
	if !strings.ContainsAny(literal, ".eE") || literal[0] == '"' {
		return decimal(literal)
	}
	value, err := strconv.ParseFloat(literal, 64)
	if err != nil || value != math.Trunc(value) || value < 1 || value > maxVersion {
		return 0, invalidVersion("must be a positive integer")
	}
	return int64(value), nil
}

func decimal(text string) (int64, error) {
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !positive.MatchString(text) || version > maxVersion {
		return 0, invalidVersion("must be a positive integer")
	}
	return version, nil
}

func versionOfTag(tag string) (int64, error) {
	match := versionTag.FindStringSubmatch(tag)
	if match == nil {
		return 0, fault.New(fault.InvalidExpectedVersion, "If-Match: pass an ETag of the project unchanged, or its version in "+
			"double quotes")
	}
	return decimal(match[1])
}

// tagsOf splits a list of entity tags. "*" asks only that there is something, and every operation here does.
func tagsOf(header string) []string {
	var tags []string
	for tag := range strings.SplitSeq(header, ",") {
		if tag = strings.TrimSpace(tag); tag != "" && tag != "*" {
			tags = append(tags, tag)
		}
	}
	return tags
}

func invalidVersion(rule string) error {
	return fault.New(fault.InvalidExpectedVersion, "%s: %s", versionMember, rule)
}

// withVersion writes the version into an object, or makes one of nothing.
func withVersion(object []byte, hasMembers bool, version int64) []byte {
	out := strconv.AppendInt([]byte(`{"`+versionMember+`":`), version, 10)
	if !hasMembers {
		return append(out, '}')
	}
	_, rest, _ := bytes.Cut(object, []byte("{"))
	return append(append(out, ','), rest...)
}

// humaContext gives the embedded interface a name of its own beside its method Context.
type humaContext huma.Context

// versioned shows the version to the operation in the place that its schema has it.
type versioned struct {
	humaContext
	body    []byte
	version int64 // 0: not found
}

func (v versioned) BodyReader() io.Reader { return bytes.NewReader(v.body) }

func (v versioned) Query(name string) string {
	if name == versionMember && v.version > 0 {
		return strconv.FormatInt(v.version, 10)
	}
	return v.humaContext.Query(name)
}

// Unwrap lets adapters find their own context.
func (v versioned) Unwrap() huma.Context { return v.humaContext }
