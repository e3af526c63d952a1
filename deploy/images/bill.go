package images

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// billType is that of a bill of materials, in SPDX.
const billType types.MediaType = "application/spdx+json"

// Bill lists what an image of a layout holds, with the program syft, and puts the list beside the image: under its tag, and as what
// refers to it. It returns the digest of what it has put there. The same image and the same syft give the same list.
func Bill(ctx context.Context, layout *Layout, image, digest, syft string, log io.Writer) (string, error) {
	found, err := layout.Get(image, digest)
	if err != nil {
		return "", err
	}
	text, err := scan(ctx, layout, image, digest, found, syft, log)
	if err != nil {
		return "", err
	}
	list, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), billType),
		mutate.Addendum{Layer: static.NewLayer(text, billType), MediaType: billType})
	if err != nil {
		return "", err
	}
	subject, err := partial.Descriptor(found)
	if err != nil {
		return "", err
	}
	referring, ok := mutate.Subject(list, v1.Descriptor{MediaType: subject.MediaType, Size: subject.Size,
		Digest: subject.Digest}).(v1.Image)
	if !ok {
		return "", fmt.Errorf("what refers to %s is no image", image)
	}
	if err := layout.Put(image, besides(digest, "sbom"), referring); err != nil {
		return "", err
	}
	return digestOf(referring)
}

func digestOf(image v1.Image) (string, error) {
	hash, err := image.Digest()
	return hash.String(), err
}

// scan lays an image out and has syft look at it.
func scan(
	ctx context.Context, layout *Layout, image, digest string, found v1.Image, syft string, log io.Writer,
) ([]byte, error) {
	root, err := os.MkdirTemp(layout.dir, rootPattern)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	layers, err := found.Layers()
	if err != nil {
		return nil, err
	}
	if err := lay(root, layers); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, syft, "scan", "dir:.", "--base-path", ".", "--quiet", "--source-name", "molfabric/"+image,
		"--source-version", digest, "--output", "spdx-json")
	cmd.Dir, cmd.Stderr = root, log
	cmd.Env = append(os.Environ(), "SYFT_CHECK_FOR_APP_UPDATE=false")
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list what %s holds; set-up with --images installs syft: %w", image, err)
	}
	return settled(text, image, digest)
}

// settled is a list without what differs between two looks at the same files: its time, and its random name.
func settled(text []byte, image, digest string) ([]byte, error) {
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("read syft's list: %w", err)
	}
	document["documentNamespace"] = "urn:molfabric:sbom:" + image + ":" + strings.TrimPrefix(digest, "sha256:")
	if creation, ok := document["creationInfo"].(map[string]any); ok {
		creation["created"] = moment.Format("2006-01-02T15:04:05Z")
	}
	return json.Marshal(document)
}

// ReadBill returns the list of an image's contents. Errors: ErrMissing.
func ReadBill(place Place, image, digest string) (text []byte, listDigest string, err error) {
	list, err := place.Get(image, besides(digest, "sbom"))
	if err != nil {
		return nil, "", err
	}
	manifest, err := list.Manifest()
	if err != nil {
		return nil, "", err
	}
	if manifest.Subject == nil || manifest.Subject.Digest.String() != digest || len(manifest.Layers) != 1 {
		return nil, "", fmt.Errorf("the list beside %s@%s is another image's", image, digest)
	}
	layers, err := list.Layers()
	if err != nil {
		return nil, "", err
	}
	stream, err := layers[0].Compressed() // it is not: a list lies there as syft wrote it
	if err != nil {
		return nil, "", err
	}
	defer stream.Close()
	if text, err = io.ReadAll(stream); err != nil {
		return nil, "", err
	}
	listDigest, err = digestOf(list)
	return text, listDigest, err
}

// CheckBill reads the list of an image's contents, compares it with its digest and says whether a key has signed it. Errors:
// ErrMissing, ErrUnsigned, ErrOtherKey.
func CheckBill(place Place, image, digest string, key *ecdsa.PublicKey) error {
	_, list, err := ReadBill(place, image, digest)
	if err != nil {
		return err
	}
	if _, err := Checked(place, image, list); err != nil {
		return err
	}
	return Verify(place, image, list, key)
}
