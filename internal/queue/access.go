package queue

import (
	"fmt"
	"strings"
)

// What the users of a deployment may do in Redis, as rules of its access control lists. doc/operating.md shows them for no prefix;
// a test holds it to them.

// ControlACL is for the API and the scheduler: all of asynq's keys and channels, all of ours and those of the API's limits, and
// none of the commands that administer a server or look at the keys of others, but for two that asynq's inspector needs.
func ControlACL(prefix string) string {
	return fmt.Sprintf("~asynq:* ~%[1]smolfabric:* ~rate:%[1]slimit:* &asynq:* &%[1]smolfabric:* +@all -@admin -@dangerous "+
		"+info +keys", prefix)
}

// WorkerACL is for workers: it cannot stop attempts, or wake and mark what the scheduler does, or read the heartbeats of other
// workers. A claim it can only take, which nobody does unseen: it can neither look at one, nor put one there, nor list what there
// is; and so the scene of a preview, whose picture it can only leave. It needs Redis 7; an older one knows no keys that may only be
// read or only be written, and no rights of their own for some keys.
func WorkerACL(prefix string) string { return strings.Join(workerRules(prefix, "*"), " ") }

// workerRules are the rules of WorkerACL for one worker, which can write no heartbeat but its own, nor take the acknowledgements of
// others; "*" is all workers.
func workerRules(prefix, workerID string) []string {
	own := func(rule, key string) string { return rule + prefix + "molfabric:" + key }
	return []string{"~asynq:*", own("~", "events"), own("~", "acks:"+workerID), own("~", "workers"), own("%W~", "worker:"+workerID),
		own("%R~", "cancel:*"), own("~", "{preview}:desk:*"), own("%W~", "{preview}:picture:*"), "&asynq:*", "+@all", "-@admin",
		"-@dangerous", "-scan", "-randomkey", "(" + own("~", "claim:*") + " " + own("~", "{preview}:scene:*") + " +getdel)"}
}

// IssuerACL is for the API where it gives workers users of their own. Who may make users can make one that may do everything, so
// its address is guarded as that of an administrator; but it holds no key itself.
func IssuerACL() string {
	return "-@all +ping +acl|setuser +acl|deluser +acl|users +cluster|slots +cluster|shards +command"
}
