package molviewspec

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	neturl "net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// IsPlainReference tells whether a reference may stand in a document that anybody gets: the name of a file beside it, a path on the
// same server, or an address over HTTP, and in no case a query, a fragment or a name with a password. What a store signs has a
// query: it would give whoever reads the document the file as long as the signature holds.
func IsPlainReference(reference string) bool {
	url, err := neturl.Parse(reference)
	switch {
	case err != nil || reference == "" || len(reference) > MaxURLBytes || strings.ContainsAny(reference, "?#\\"):
		return false
	case url.Opaque != "" || url.User != nil:
		return false
	case url.Scheme == "http" || url.Scheme == "https":
		return url.Host != ""
	}
	return url.Scheme == "" && url.Host == "" && !strings.Contains(reference, ":")
}

// madeOn is the day of every file of an archive, so that the same scene is the same archive: the first of January 1980, which is
// the earliest that zip can state.
const madeOn = 1<<5 | 1

// WriteArchive writes a document and the files that it refers to as an archive (".mvsx"): index.mvsj first, then the contents by
// their names, all of one time. The same contents make the same bytes. ReadArchive reads it again.
//
// Names are relative, with slashes, and as references write them. An *InvalidError tells of a document that is not valid, of
// references that neither contents nor public addresses answer, of names that are not safe, and of archives out of bounds; an error
// of w is returned wrapped.
func WriteArchive(w io.Writer, document []byte, contents map[string][]byte) error {
	scene, err := Parse(document)
	if err != nil {
		return inIndex(err)
	}
	names := slices.Sorted(maps.Keys(contents))
	if err := checkNames(names); err != nil {
		return err
	}
	unpacked := int64(len(document))
	for _, name := range names {
		unpacked += int64(len(contents[name]))
	}
	if unpacked > MaxUnpackedBytes {
		return invalid("the archive would hold more than %d MiB", MaxUnpackedBytes>>20)
	}
	for _, reference := range scene.References {
		_, inside := contents[entryName(reference.URL)]
		address := strings.Contains(reference.URL, "://") && IsPlainReference(reference.URL)
		if !inside && !address {
			const why = "refers to what is neither a file of the archive nor a public address; addresses have no query, and no " +
				"name with a password"
			return &InvalidError{Issues: []Issue{{reference.Path, why}}}
		}
	}
	archive := zip.NewWriter(w)
	if err := writeEntry(archive, indexName, document); err != nil {
		return err
	}
	for _, name := range names {
		if err := writeEntry(archive, name, contents[name]); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("write the end of the archive: %w", err)
	}
	return nil
}

// writeEntry writes a file with its sizes before it: Mol* reads none that stand behind. What shrinks so far that a reader would
// take it for a bomb is not packed.
func writeEntry(archive *zip.Writer, name string, content []byte) error {
	var packed bytes.Buffer
	packer, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		return fmt.Errorf("pack %s: %w", quote(name), err)
	}
	_, err = packer.Write(content)
	if err = errors.Join(err, packer.Close()); err != nil {
		return fmt.Errorf("pack %s: %w", quote(name), err)
	}
	header := &zip.FileHeader{
		Name: name, Method: zip.Deflate, CRC32: crc32.ChecksumIEEE(content), CompressedSize64: uint64(packed.Len()),
		UncompressedSize64: uint64(len(content)), ModifiedDate: madeOn, //nolint:staticcheck // no other way writes a time and no extra field
	}
	body := packed.Bytes()
	if len(body) >= len(content) || len(body) < len(content)/maxRatio {
		header.Method, header.CompressedSize64, body = zip.Store, uint64(len(content)), content
	}
	for _, letter := range name {
		if letter >= utf8.RuneSelf {
			header.Flags = utf8Names
		}
	}
	to, err := archive.CreateRaw(header)
	if err == nil {
		_, err = to.Write(body)
	}
	if err != nil {
		return fmt.Errorf("write %s into the archive: %w", quote(name), err)
	}
	return nil
}

// utf8Names is the flag of files whose names are in UTF-8 (APPNOTE.TXT of PKWARE, 4.4.4, bit 11).
const utf8Names = 1 << 11

// checkNames refuses names that this package would not read, or that are written otherwise in references, and a name that is
// another one's folder.
func checkNames(names []string) error {
	if len(names) >= MaxArchiveEntries {
		return tooManyEntries()
	}
	for _, name := range names {
		switch {
		case name == indexName:
			return invalid("%s is the document's own name", quote(name))
		case !IsArchiveName(name):
			return invalid("%s cannot be a file of an archive; names are relative, of at most %d bytes, and have neither \"..\" "+
				"nor any of : \\ %% ? #", quote(name), maxEntryNameBytes)
		}
		for at := range name {
			if _, taken := slices.BinarySearch(names, name[:at]); taken && name[at] == '/' {
				return invalid("%s is a file and a folder", quote(name[:at]))
			}
		}
	}
	return nil
}

// IsArchiveName tells whether a file of an archive may have a name, which references write as it is.
func IsArchiveName(name string) bool {
	return name != "" && name != indexName && len(name) <= maxEntryNameBytes && entryName(name) == name &&
		!strings.ContainsAny(name, "%?#\\:\x00")
}
