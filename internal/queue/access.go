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

// WorkerACL is for workers: it cannot read the heartbeats of other workers, stop attempts, or wake and mark what the
// scheduler does. A claim it can only take, which nobody does unseen: it can neither look at one, nor put one there, nor
// list what there is; and so the scene of a preview, whose picture it can only leave. It needs Redis 7; an older one knows no
// keys that may only be read or only be written, and no rights of their own for some keys.
func WorkerACL(prefix string) string {
	own := func(rule, key string) string { return rule + prefix + "molfabric:" + key }
	return strings.Join([]string{"~asynq:*", own("~", "events"), own("~", "acks:*"), own("~", "workers"), own("%W~", "worker:*"),
		own("%R~", "cancel:*"), own("~", "{preview}:desk:*"), own("%W~", "{preview}:picture:*"), "&asynq:*", "+@all", "-@admin",
		"-@dangerous", "-scan", "-randomkey", "(" + own("~", "claim:*"), own("~", "{preview}:scene:*"), "+getdel)"}, " ")
}
