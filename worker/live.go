package worker

import (
	"sync"
	"time"

	"github.com/molfabric/molfabric/internal/queue"
)

// livePause is how long a reading of what an attempt uses is told again. Without control groups a reading looks at every process of
// the machine, and who is stopped for his use a few seconds later has not used much more.
const livePause = 3 * time.Second

// liveUse is what an attempt has used until now, as its heartbeats tell. Its zero value knows nothing. It may be used concurrently.
type liveUse struct {
	mu   sync.Mutex
	used func() (queue.Usage, bool)
	last queue.Use
	at   time.Time
}

// follow lets readings come from used.
func (l *liveUse) follow(used func() (queue.Usage, bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = used
}

// read is the newest reading. Use never falls, also when the processes that it was counted from have ended.
func (l *liveUse) read() queue.Use {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used == nil || time.Since(l.at) < livePause {
		return l.last
	}
	if used, ok := l.used(); ok {
		l.at = time.Now()
		l.last = queue.Use{CPUMicroseconds: max(l.last.CPUMicroseconds, used.CPUMicroseconds),
			GPUMicroseconds: max(l.last.GPUMicroseconds, used.GPUMicroseconds)}
	}
	return l.last
}
