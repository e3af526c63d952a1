package object_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
)

// TestSessionCredentials: a key that is good for a time signs with its token, requests and URLs alike, and not without it.
func TestSessionCredentials(t *testing.T) {
	t.Parallel()
	_, cfg := objecttest.NewOther(t)
	asked, err := sts.New(sts.Options{BaseEndpoint: &cfg.Endpoint, Region: cfg.Region,
		Credentials: credentials.NewStaticCredentialsProvider(cfg.AccessKey, cfg.SecretKey, "")}).
		AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: aws.String("arn:xxx:xxx:xxx:xxxx"),
			RoleSessionName: aws.String("test")})
	if err != nil {
		t.Fatal(err)
	}
	cfg.AccessKey, cfg.SecretKey = *asked.Credentials.AccessKeyId, *asked.Credentials.SecretAccessKey
	bare, err := object.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := bare.Check(t.Context()); err == nil {
		t.Error("the key works without its token")
	}
	cfg.SessionToken = *asked.Credentials.SessionToken
	store, err := object.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	put(t, store, "pose.sdf", "M  END")
	address, err := store.PresignGet(t.Context(), "pose.sdf", "pose.sdf", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if status, text, _ := send(t, http.MethodGet, address, "", nil); status != http.StatusOK || text != "M  END" {
		t.Errorf("the URL answers %d %s", status, text)
	}
}

// TestWebIdentity: the role of a pod is taken on with the token that its file holds at that time, and signs.
func TestWebIdentity(t *testing.T) {
	const key, token = "ASIAEXAMPLE", "session-token"
	identity := filepath.Join(t.TempDir(), "identity")
	if err := os.WriteFile(identity, []byte("signed-by-the-cluster"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := make(chan url.Values, 1)
	authority := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		asked <- r.Form
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
			<Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>%s</SessionToken>
			<Expiration>%s</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
			key, token, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	defer authority.Close()
	signed := make(chan http.Header, 1)
	files := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { signed <- r.Header.Clone() }))
	defer files.Close()
	for _, name := range os.Environ() { // nothing of this machine's own
		if name, _, _ := strings.Cut(name, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/molfabric")
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", identity)
	t.Setenv("AWS_ENDPOINT_URL_STS", authority.URL)
	store, err := object.New(object.Config{Endpoint: files.URL, Region: "eu-west-2", Bucket: "molfabric", Chain: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := store.Check(ctx); err != nil {
		t.Fatal(err)
	}
	if form := <-asked; form.Get("WebIdentityToken") != "signed-by-the-cluster" ||
		!strings.HasSuffix(form.Get("RoleArn"), "role/molfabric") {
		t.Errorf("the authority was asked with %v", form)
	}
	if header := <-signed; header.Get("X-Amz-Security-Token") != token ||
		!strings.Contains(header.Get("Authorization"), "Credential="+key+"/") {
		t.Errorf("the store was asked with %v", header)
	}
	address, err := store.PresignGet(ctx, "pose.sdf", "pose.sdf", time.Hour)
	if err != nil || !strings.Contains(address, "X-Amz-Security-Token="+token) {
		t.Errorf("signed URL %s, %v", address, err)
	}
}

// TestCredentialsAreOneKind: a key beside the chain would be a guess which of them signs.
func TestCredentialsAreOneKind(t *testing.T) {
	t.Parallel()
	good := object.Config{Endpoint: "http://127.0.0.1:1", Region: "us-east-1", Bucket: "molfabric"}
	for _, one := range []struct {
		name   string
		change func(*object.Config)
	}{
		{"a key beside the chain", func(c *object.Config) { c.Chain, c.AccessKey, c.SecretKey = true, "key", "hunter2" }},
		{"no key", func(*object.Config) {}},
		{"half a key", func(c *object.Config) { c.AccessKey = "key" }},
		{"a token alone", func(c *object.Config) { c.SessionToken = "hunter2" }},
	} {
		cfg := good
		one.change(&cfg)
		if _, err := object.New(cfg); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", one.name, err)
		}
	}
}
