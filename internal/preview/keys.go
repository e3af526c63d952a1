package preview

import (
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// maxWaiting bounds the requests that wait in Redis, and with MaxSceneBytes what they take of its memory: 256 MiB.
	maxWaiting = 16
	// maxWaitingOfAccount leaves room for the requests of others.
	maxWaitingOfAccount = 4
	// waitLimit is how long a request waits for a renderer: three or four previews of others.
	waitLimit = 8 * time.Second
	// holdLimit is how long an account counts as being drawn for without a word of the worker that does it.
	holdLimit = 5 * time.Second
	// warmLimit is how long a worker counts as having a warm renderer without a word of it.
	warmLimit = 5 * time.Second
	// answerLimit is how long a picture lies in Redis for who has asked; it is looked for all the time.
	answerLimit = 10 * time.Second
	// tableLimit is after how long without a request Redis forgets what is common to all.
	tableLimit = time.Minute

	// What a caller is told to wait: about as long as a renderer takes to start; a preview of somebody else; and no time, because
	// another worker may draw at once. mostRetry is the most that a worker may tell.
	retryNobody, retryFull, retryLost, mostRetry = 15 * time.Second, 2 * time.Second, time.Second, time.Minute
)

// keys are the names in Redis. They lie in one slot of a cluster, because scripts use several at once. Workers may use all below
// "desk", take what is below "scene", and leave something below "picture" (see queue.WorkerACL).
type keys struct{ prefix string }

func (k keys) of(name string) string { return k.prefix + "molfabric:{preview}:" + name }

// waiting is a list of entries "id account until", in the order in which they were asked for.
func (k keys) waiting() string { return k.of("desk:waiting") }

// bell is a list that a worker waits at; each of its elements is a request.
func (k keys) bell() string { return k.of("desk:bell") }

// warm is a sorted set of warm renderers, "worker/number", by the moment until which they count.
func (k keys) warm() string { return k.of("desk:warm") }

// busy is a hash of accounts that are drawn for: "id until" of the request.
func (k keys) busy() string { return k.of("desk:busy") }

// scene is a request's message, as long as it waits.
func (k keys) scene(id string) string { return k.of("scene:" + id) }

// picture is where an answer lies.
func (k keys) picture(secret string) string { return k.of("picture:" + secret) }

// The scripts tell the time by Redis's clock alone, in milliseconds: those of callers and workers may differ.
const clock = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
`

// askScript puts a request in the list and returns its entry, or tells why not: "nobody" has a warm renderer, or the list is
// "full". KEYS: waiting, warm, bell, scene. ARGV: id, account, message, wait, most, most of the account, limit of the tables.
var askScript = redis.NewScript(clock + `
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('ZCARD', KEYS[2]) == 0 then return 'nobody' end
local all, own = 0, 0
for _, entry in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
	local account, till = string.match(entry, '^%S+ (%S+) (%d+)$')
	if not till or tonumber(till) <= now then
		redis.call('LREM', KEYS[1], 0, entry)
	else
		all = all + 1
		if account == ARGV[2] then own = own + 1 end
	end
end
if all >= tonumber(ARGV[5]) or own >= tonumber(ARGV[6]) then return 'full' end
local entry = ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. string.format('%.0f', now + ARGV[4])
redis.call('SET', KEYS[4], ARGV[3], 'PX', ARGV[4])
redis.call('RPUSH', KEYS[1], entry)
redis.call('RPUSH', KEYS[3], '1')
redis.call('LTRIM', KEYS[3], -ARGV[5], -1)
redis.call('PEXPIRE', KEYS[1], ARGV[7])
redis.call('PEXPIRE', KEYS[3], ARGV[7])
return entry`)

// withdrawScript takes a request back and returns 1, or 0 when a worker has taken it. KEYS: waiting, scene. ARGV: entry.
var withdrawScript = redis.NewScript(`
redis.call('DEL', KEYS[2])
return redis.call('LREM', KEYS[1], 1, ARGV[1])`)

// drawnScript returns 1 while a worker says that it draws the request. KEYS: busy. ARGV: account, id.
var drawnScript = redis.NewScript(clock + `
local id, till = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^(%S+) (%d+)$')
if id == ARGV[2] and tonumber(till) > now then return 1 end
return 0`)

// chooseScript takes the first request out of the list whose account is not drawn for already, and which a worker can serve: of
// the accounts that it names, or of anyone. It returns id and account of it; or an empty list, or of one element when requests
// wait. KEYS: waiting, busy. ARGV: how long the account counts as drawn for, limit of the tables, 1 for anyone, accounts.
var chooseScript = redis.NewScript(clock + `
local mine, waiting = {}, {}
for i = 4, #ARGV do mine[ARGV[i]] = true end
for _, entry in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
	local id, account, till = string.match(entry, '^(%S+) (%S+) (%d+)$')
	if not till or tonumber(till) <= now then
		redis.call('LREM', KEYS[1], 0, entry)
	else
		local held = string.match(redis.call('HGET', KEYS[2], account) or '', '(%d+)$')
		if (not held or tonumber(held) <= now) and (ARGV[3] == '1' or mine[account]) then
			redis.call('LREM', KEYS[1], 1, entry)
			redis.call('HSET', KEYS[2], account, id .. ' ' .. string.format('%.0f', now + ARGV[1]))
			redis.call('PEXPIRE', KEYS[2], ARGV[2])
			return {id, account}
		end
		waiting[1] = entry
	end
end
return waiting`)

// beatScript says that a worker has so many warm renderers and still draws. KEYS: warm, busy. ARGV: worker, renderers, most of
// them, how long they count, how long accounts count as drawn for, limit of the tables, then account and id of each request.
var beatScript = redis.NewScript(clock + `
for i = 1, tonumber(ARGV[3]) do
	if i <= tonumber(ARGV[2]) then
		redis.call('ZADD', KEYS[1], now + ARGV[4], ARGV[1] .. '/' .. i)
	else
		redis.call('ZREM', KEYS[1], ARGV[1] .. '/' .. i)
	end
end
redis.call('PEXPIRE', KEYS[1], ARGV[6])
for i = 7, #ARGV, 2 do
	local id = string.match(redis.call('HGET', KEYS[2], ARGV[i]) or '', '^(%S+)')
	if id == ARGV[i + 1] then
		redis.call('HSET', KEYS[2], ARGV[i], id .. ' ' .. string.format('%.0f', now + ARGV[5]))
	end
end
redis.call('PEXPIRE', KEYS[2], ARGV[6])
return 1`)

// releaseScript says that an account is drawn for no more, and calls a worker to what waits. KEYS: busy, bell, waiting. ARGV:
// account, id, most, limit of the tables.
var releaseScript = redis.NewScript(`
local id = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^(%S+)')
if id == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
if redis.call('LLEN', KEYS[3]) > 0 then
	redis.call('RPUSH', KEYS[2], '1')
	redis.call('LTRIM', KEYS[2], -ARGV[3], -1)
	redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
return 1`)

// countScript counts warm renderers. KEYS: warm.
var countScript = redis.NewScript(clock + `return redis.call('ZCOUNT', KEYS[1], '(' .. string.format('%.0f', now), '+inf')`)
