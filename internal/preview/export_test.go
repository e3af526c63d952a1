package preview

import "time"

// SetWait sets how long requests of a client wait for a renderer.
func SetWait(c *Client, wait time.Duration) { c.wait = wait }
