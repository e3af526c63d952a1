package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

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

// place adds the file's place in a project package, where it has one, to the request for an upload.
func (o UploadOptions) place(request map[string]any) map[string]any {
	if o.ProjectID != "" {
		request["projectId"], request["logicalPath"] = o.ProjectID, o.LogicalPath
	}
	return request
}

// uploadTicket is the API's answer to a request for an upload.
type uploadTicket struct {
	Document
	UploadURL string            `json:"uploadUrl"`
	Key       string            `json:"s3Key"`
	Method    string            `json:"method"`
	Headers   map[string]string `json:"headers"`
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
	var ticket uploadTicket
	if err := c.do(ctx, call{
		method: http.MethodPost, path: "/v1/jobs/upload-url", idempotent: true, into: &ticket,
		body: options.place(map[string]any{"filename": filename, "contentType": file.ContentType, "size": size, "sha256": digest}),
	}); err != nil {
		return Uploaded{}, err
	}
	file.StorageKey = ticket.Key
	err = c.attempts(ctx, true, func() error { return c.put(ctx, ticket, io.NewSectionReader(content, 0, size), sent) })
	return file, err
}

// put sends a file or a part once, with exactly the headers that are part of the URL's signature. content must be a section of
// its own for every try, because the transport may still read the body of one that the store has refused already.
func (c *Client) put(ctx context.Context, ticket uploadTicket, content *io.SectionReader, sent *meter) error {
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

// DownloadOutput writes a job's file to destination and checks its size and SHA-256. The file appears under its name only
// when it is whole and right; one that is there already and right is left alone. Folders are made as needed. A checksum that
// stays wrong is a *ChecksumError.
func (c *Client) DownloadOutput(ctx context.Context, output Output, destination string) error {
	if matches(output, destination) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(destination), 0o755); err != nil {
		return err
	}
	part := destination + ".part"
	err := c.attempts(ctx, true, func() error {
		file, err := os.Create(part)
		if err != nil {
			return err
		}
		return errors.Join(c.get(ctx, output, file), file.Close())
	})
	if err != nil {
		return errors.Join(err, remove(part))
	}
	return os.Rename(part, destination)
}

// FetchOutput reads a job's file of at most limit bytes into memory, checked like DownloadOutput's.
func (c *Client) FetchOutput(ctx context.Context, output Output, limit int64) ([]byte, error) {
	if output.ByteSize > limit {
		return nil, fmt.Errorf("%s: has %d bytes, more than the %d that are read at once", output.Name, output.ByteSize, limit)
	}
	var content bytes.Buffer
	err := c.attempts(ctx, true, func() error {
		content.Reset()
		return c.get(ctx, output, &content)
	})
	return content.Bytes(), err
}

// get reads the file once.
func (c *Client) get(ctx context.Context, output Output, into io.Writer) error {
	limited, cancel := context.WithTimeout(ctx, transferTime(output.ByteSize))
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, output.URL, nil)
	if err != nil {
		return fmt.Errorf("%s: the server answered with an address that is none", output.Name)
	}
	answer, err := c.store.Do(request)
	if err != nil {
		return c.network(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return storeRefusal(answer)
	}
	hashed := &hashingWriter{to: into, hash: sha256.New()}
	// One byte more than announced shows that the file is longer, without reading all of it.
	if _, err := io.Copy(hashed, io.LimitReader(answer.Body, output.ByteSize+1)); err != nil {
		if hashed.failed != nil {
			return hashed.failed
		}
		return c.network(ctx, err)
	}
	if hashed.written != output.ByteSize {
		return &ChecksumError{Name: output.Name, Want: strconv.FormatInt(output.ByteSize, 10) + " bytes", Got: strconv.FormatInt(hashed.written, 10) + " bytes"}
	}
	if got := hex.EncodeToString(hashed.hash.Sum(nil)); got != output.SHA256 {
		return &ChecksumError{Name: output.Name, Want: output.SHA256, Got: got}
	}
	return nil
}

// hashingWriter passes bytes on, and tells the destination's failures from the source's.
type hashingWriter struct {
	to      io.Writer
	hash    hash.Hash
	written int64
	failed  error
}

func (w *hashingWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.hash.Write(p[:n])
	w.written += int64(n)
	w.failed = err
	return n, err
}

// matches reports whether the file is there already.
func matches(output Output, path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != output.ByteSize {
		return false
	}
	digest, err := Digest(file)
	return err == nil && digest == output.SHA256
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

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
