package object

import "strings"

// UploadsOf is the prefix of every file that an account has uploaded. What lies elsewhere in a store is the deployment's: results of
// jobs, databases, public structures.
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
