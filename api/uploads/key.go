package uploads

import (
	"path"
	"strings"

	"github.com/molfabric/molfabric/internal/object"
)

// maxNameBytes bounds the file name in a storage key: S3 keys end at 1,024 bytes, and file systems behind the embedded store
// at 255 a segment.
const maxNameBytes = 120

// fallbackName stands for a file name of which nothing is left.
const fallbackName = "file"

// storageKey is where an upload lies: below its account's namespace, so that a key alone tells whose it is.
func storageKey(accountID, uploadID, filename string) string {
	return namespace(accountID) + uploadID + "/" + safeName(filename)
}

// projectKey is where a file of a project package lies. The path is kept to the letter.
func projectKey(accountID string, at place) string {
	return projectPrefix(accountID, at.projectID) + at.logicalPath
}

// projectPrefix is where a project package lies, so that a relative path in one of its files leads to another. No upload id
// looks like it.
func projectPrefix(accountID, projectID string) string {
	return namespace(accountID) + "projects/" + projectID + "/"
}

// namespace is the prefix of every upload of an account.
func namespace(accountID string) string { return object.UploadsOf(accountID) }

// safeName reduces a file name to [A-Za-z0-9._-] and maxNameBytes and keeps its extension, by which people and programs tell
// formats apart. Path separators of both kinds end a directory part, which is dropped. It never gives "", "." or "..".
func safeName(filename string) string {
	filename = path.Base(strings.ReplaceAll(filename, `\`, "/"))
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, filename)
	stem, extension := name, strings.TrimSuffix(path.Ext(name), ".")
	if len(extension) > maxNameBytes/2 { // a dot somewhere in a long name, not an extension
		extension = ""
	}
	stem = strings.Trim(strings.TrimSuffix(stem, extension), "._-")
	stem = strings.TrimRight(stem[:min(len(stem), maxNameBytes-len(extension))], ".")
	if stem == "" {
		stem = fallbackName
	}
	return stem + extension
}
