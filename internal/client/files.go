package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/mol"
)

// transferGrace is the time a transfer gets beside what its size takes on the slowest line.
const transferGrace = time.Minute

// Uploaded is a file that lies in the store.
type Uploaded struct {
	StorageKey  string `json:"storageKey"`
	SHA256      string `json:"sha256"` // hexadecimal
	ByteSize    int64  `json:"byteSize"`
	ContentType string `json:"mediaType"`
}

// UploadOptions say how a file is uploaded. The zero value is for callers that only want it done.
type UploadOptions struct {
	// ProjectID and LogicalPath, both or neither, make the file part of a project package: a UUID that all of its files share, and
	// the file's path in it, with slashes. Relative paths between files of a package hold.
	ProjectID, LogicalPath string
	// Resume is the id of an upload in parts of the same file that has been interrupted, or "".
	Resume string
	// Begun, when it is not nil, learns the id of an upload in parts before the first part is sent. An upload that fails after
	// that is kept for Resume; without Begun, when nobody could resume it, it is ended.
	Begun func(uploadID string)
	// Progress, when it is not nil, learns how many bytes have gone out, and how many were there already. Calls come one after
	// the other, and sent falls when a try fails.
	Progress func(sent, there int64)
}

// UploadFile uploads the file at path under its own name, with the content type of its extension.
func (c *Client) UploadFile(ctx context.Context, path string) (Uploaded, error) {
	return c.UploadFileWith(ctx, path, UploadOptions{})
}

// UploadFileWith is UploadFile with a say in how it is done. Errors: as for Upload, and ErrOtherFile.
func (c *Client) UploadFileWith(ctx context.Context, path string, options UploadOptions) (Uploaded, error) {
	file, err := os.Open(path)
	if err != nil {
		return Uploaded{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Uploaded{}, err
	}
	if !info.Mode().IsRegular() {
		return Uploaded{}, fmt.Errorf("%s: is not a regular file", path)
	}
	uploaded, err := c.UploadWith(ctx, filepath.Base(path), file, info.Size(), options)
	if err != nil {
		return Uploaded{}, fmt.Errorf("uploading %s: %w", path, err)
	}
	return uploaded, nil
}

// Upload stores the first size bytes of content under a file name, a large file in parts. content is read once for its SHA-256,
// which the store or the server then checks, and once for each try; what goes up in parts, once more for the checksums of
// these. The context's end and the errors of Client's calls pass through.
func (c *Client) Upload(ctx context.Context, filename string, content io.ReaderAt, size int64) (Uploaded, error) {
	return c.UploadWith(ctx, filename, content, size, UploadOptions{})
}

// UploadWith is Upload with a say in how it is done. Errors: as for Upload, and ErrOtherFile.
func (c *Client) UploadWith(
	ctx context.Context, filename string, content io.ReaderAt, size int64, options UploadOptions,
) (Uploaded, error) {
	if size == 0 {
		return Uploaded{}, errors.New("the file is empty")
	}
	digest, err := Digest(&untilDone{ctx, io.NewSectionReader(content, 0, size)})
	if err != nil {
		return Uploaded{}, err
	}
	file := Uploaded{SHA256: digest, ByteSize: size, ContentType: ContentType(filename)}
	sent := &meter{tell: options.Progress}
	if size >= c.inParts || options.Resume != "" {
		file.StorageKey, err = c.uploadParts(ctx, filename, content, file, options, sent)
		return file, err
	}
	ticket, err := ask[contract.UploadURLResponse](ctx, c, call{
		method: http.MethodPost, path: "/v1/jobs/upload-url", idempotent: true,
		body: contract.UploadURLRequest{Filename: filename, ContentType: file.ContentType, Size: size, SHA256: digest,
			ProjectID: options.ProjectID, LogicalPath: options.LogicalPath},
	})
	if err != nil {
		return Uploaded{}, err
	}
	file.StorageKey = ticket.Body.S3Key
	err = c.attempts(ctx, true, func() error { return c.put(ctx, ticket.Body, io.NewSectionReader(content, 0, size), sent) })
	return file, err
}

// put sends a file or a part once, with exactly the headers that are part of the URL's signature. content must be a section of
// its own for every try, because the transport may still read the body of one that the store has refused already.
func (c *Client) put(ctx context.Context, ticket contract.UploadURLResponse, content *io.SectionReader, sent *meter) error {
	limited, cancel := context.WithTimeout(ctx, transferTime(content.Size()))
	defer cancel()
	body := &metered{Reader: content, meter: sent}
	request, err := http.NewRequestWithContext(limited, ticket.Method, ticket.UploadURL, body)
	if err != nil {
		return errors.New("the server answered with an upload address that is none")
	}
	request.ContentLength = content.Size()
	for name, value := range ticket.Headers {
		request.Header.Set(name, value)
	}
	answer, err := c.store.Do(request)
	if err != nil {
		body.undo()
		return c.network(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		body.undo()
		return storeRefusal(answer)
	}
	return nil
}

// Digest is the SHA-256 of what content holds, in hexadecimal.
func Digest(content io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return "", fmt.Errorf("reading the file: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// contentTypes by format (the file's extension), as the engines name them.
var contentTypes = map[string]string{
	mol.FormatPDB: "chemical/x-pdb", mol.FormatPDBQT: "chemical/x-pdbqt", mol.FormatSDF: "chemical/x-mdl-sdfile",
	mol.FormatMOL2: "chemical/x-mol2", "cif": "chemical/x-mmcif", mol.FormatMMCIF: "chemical/x-mmcif", "json": "application/json",
}

// ContentType is the media type that a file of this name is uploaded with.
func ContentType(filename string) string {
	extension := strings.TrimPrefix(strings.ToLower(filepath.Ext(filename)), ".")
	if known, ok := contentTypes[extension]; ok {
		return known
	}
	return "application/octet-stream"
}

func transferTime(size int64) time.Duration {
	return transferGrace + time.Duration(size/slowestBytesPerSecond)*time.Second
}
