package images

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Signatures are in the format that cosign calls simple signing: a payload that names a digest, as the one layer of an image beside
// the signed one, with its ECDSA signature as an annotation.
const (
	payloadType         types.MediaType = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation string          = "dev.cosignproject.cosign/signature"
	payloadKind         string          = "cosign container image signature"
	// maxPayloadBytes bounds a payload that is read; ours have 300 bytes.
	maxPayloadBytes = 64 << 10
)

// Errors of Verify.
var (
	ErrUnsigned = errors.New("it is not signed")
	ErrOtherKey = errors.New("no signature is of this key")
)

type payload struct {
	Critical struct {
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
	Optional map[string]string `json:"optional"`
}

// NewKey makes a key of the curve P-256 and writes it to path, for its owner alone, and the public key beside it, to path.pub. It
// overwrites nothing.
func NewKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := writeNew(path, 0o600, &pem.Block{Type: "PRIVATE KEY", Bytes: private}); err != nil {
		return err
	}
	return writeNew(path+".pub", 0o644, &pem.Block{Type: "PUBLIC KEY", Bytes: public})
}

func writeNew(path string, mode os.FileMode, block *pem.Block) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	return errors.Join(pem.Encode(file, block), file.Close())
}

func readPEM(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("key %s: is not PEM; `molfabric-images key` makes one", path)
	}
	return block.Bytes, nil
}

// ReadKey reads a key to sign with.
func ReadKey(path string) (*ecdsa.PrivateKey, error) {
	content, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(content)
	if key, ok := parsed.(*ecdsa.PrivateKey); ok {
		return key, nil
	}
	return nil, fmt.Errorf("key %s: must be an ECDSA key in PKCS #8: %w", path, errors.Join(err))
}

// ReadPublicKey reads a key to verify with.
func ReadPublicKey(path string) (*ecdsa.PublicKey, error) {
	content, err := readPEM(path)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKIXPublicKey(content)
	if key, ok := parsed.(*ecdsa.PublicKey); ok {
		return key, nil
	}
	return nil, fmt.Errorf("key %s: must be an ECDSA public key: %w", path, errors.Join(err))
}

// besides is the tag of what belongs to an image, as cosign names it.
func besides(digest, what string) string { return strings.Replace(digest, ":", "-", 1) + "." + what }

// Sign signs a digest of an image and puts the signature beside it. reference is the repository that the image is known by, which
// others hold against where they found it.
func Sign(place Place, image, digest, reference string, key *ecdsa.PrivateKey) error {
	said := payload{Optional: map[string]string{}}
	said.Critical.Identity.Reference, said.Critical.Image.Digest, said.Critical.Type = reference, digest, payloadKind
	text, err := json.Marshal(said)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	if err != nil {
		return err
	}
	bare := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	signed, err := mutate.Append(bare,
		mutate.Addendum{Layer: static.NewLayer(text, payloadType), MediaType: payloadType,
			Annotations: map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(signature)}})
	if err != nil {
		return err
	}
	return place.Put(image, besides(digest, "sig"), signed)
}

// Verify says whether a digest of an image is signed by a key. Errors: ErrUnsigned, ErrOtherKey.
func Verify(place Place, image, digest string, key *ecdsa.PublicKey) error {
	signatures, err := place.Get(image, besides(digest, "sig"))
	if errors.Is(err, ErrMissing) {
		return fmt.Errorf("%s@%s: %w", image, digest, ErrUnsigned)
	}
	if err != nil {
		return err
	}
	manifest, err := signatures.Manifest()
	if err != nil {
		return err
	}
	for _, layer := range manifest.Layers {
		said, err := payloadOf(signatures, layer, key)
		if err != nil {
			return fmt.Errorf("%s@%s: %w", image, digest, err)
		}
		if said != nil && said.Critical.Type == payloadKind && said.Critical.Image.Digest == digest {
			return nil
		}
	}
	return fmt.Errorf("%s@%s: %w", image, digest, ErrOtherKey)
}

// payloadOf reads a payload; nil where its signature is not of the key.
func payloadOf(signatures v1.Image, layer v1.Descriptor, key *ecdsa.PublicKey) (*payload, error) {
	if layer.MediaType != payloadType {
		return nil, nil
	}
	signature, err := base64.StdEncoding.DecodeString(layer.Annotations[signatureAnnotation])
	if err != nil {
		return nil, fmt.Errorf("a signature is not base64: %w", err)
	}
	content, err := signatures.LayerByDigest(layer.Digest)
	if err != nil {
		return nil, err
	}
	stream, err := content.Compressed() // it is not: a payload lies there as it was signed
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	text, err := io.ReadAll(io.LimitReader(stream, maxPayloadBytes))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	if !ecdsa.VerifyASN1(key, sum[:], signature) {
		return nil, nil
	}
	said := &payload{}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(said); err != nil {
		return nil, fmt.Errorf("a signed payload is not read: %w", err)
	}
	return said, nil
}
