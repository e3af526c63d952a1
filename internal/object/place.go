package object

import "strings"

// UploadsOf is the prefix of every file that an account has uploaded. What lies elsewhere in a store is the deployment's: results
// of jobs, databases, public structures.
func UploadsOf(accountID string) string { return "accounts/" + accountID + "/uploads/" }

// IsUpload tells whether a key is that of a file which an account has uploaded.
func IsUpload(key string) bool {
	account, ok := strings.CutPrefix(key, "accounts/")
	if !ok {
		return false
	}
	_, below, _ := strings.Cut(account, "/")
	return strings.HasPrefix(below, "uploads/")
}

// ProjectPath takes the key of a file in a project package apart: the package, which is the same for all of its files, and the
// file's path in it. ok is false for every other key.
func ProjectPath(key string) (project, path string, ok bool) {
	const folder = "/projects/"
	start := strings.Index(key, folder)
	if start < 0 || !IsUpload(key) {
		return "", "", false
	}
	id, path, _ := strings.Cut(key[start+len(folder):], "/")
	if id == "" || path == "" || !strings.HasSuffix(key[:start], "/uploads") {
		return "", "", false
	}
	return key[:start+len(folder)+len(id)], path, true
}
