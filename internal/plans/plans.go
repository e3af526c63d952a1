// Package plans keeps what the tasks of a job are to do: the shards of its plan, as JSON, in compressed blocks of neighbours.
// Neighbours differ in little, so that a library of ten thousand ligands takes some hundred kilobytes where it would take ten
// megabytes in as many rows. A plan is written once, with its job, and never changed.
package plans

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/molfabric/molfabric/engines"
)

const (
	// blockShards bounds the shards of a block: who wants one of them reads them all.
	blockShards = 64
	// blockBytes is about how much JSON a block is made of at most, whatever the parameters of its shards.
	blockBytes = 256 << 10
	// shardOwnBytes is about what a shard takes beside its parameters.
	shardOwnBytes = 600
)

// block is neighbours of a plan: a JSON array of shards, compressed.
type block struct {
	first  int // place of the first of them in the plan
	shards []byte
}

// The compressor and its reverse, for everybody: their methods for whole blocks keep nothing between two calls.
var (
	compressor = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(blockBytes), zstd.WithLowerEncoderMem(true)))
	expander = must(zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true)))
)

// must is for what fails by its own arguments alone, which are constants.
func must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}

// Writing is a plan that is being written as blocks.
type Writing struct {
	blocks chan block
	stop   chan struct{}
	err    error // set before blocks is closed
}

// Write begins to write a plan, beside whatever its job needs first. Stop must be called, whether the blocks are used or not.
// Blocks that nobody has taken yet wait in memory: they take a fraction of what the plan itself takes there.
func Write(plan []engines.Shard) *Writing {
	w := &Writing{blocks: make(chan block, countBlocks(plan)), stop: make(chan struct{})}
	go func() {
		defer close(w.blocks)
		var text bytes.Buffer // of one block after the other
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		for first := 0; first < len(plan); {
			end := endOfBlock(plan, first)
			text.Reset()
			if err := encoder.Encode(plan[first:end]); err != nil {
				w.err = fmt.Errorf("write the shards %d to %d: %w", first, end-1, err)
				return
			}
			select {
			case w.blocks <- block{first: first, shards: compressor.EncodeAll(text.Bytes(), nil)}:
			case <-w.stop:
				return
			}
			first = end
		}
	}()
	return w
}

// Stop ends the writing.
func (w *Writing) Stop() { close(w.stop) }

func countBlocks(plan []engines.Shard) (n int) {
	for first := 0; first < len(plan); first = endOfBlock(plan, first) {
		n++
	}
	return n
}

// endOfBlock is the place after the last shard of the block that begins at first.
func endOfBlock(plan []engines.Shard, first int) int {
	end, size := first, 0
	for end < len(plan) && end-first < blockShards {
		size += shardOwnBytes + len(plan[end].Params)
		if size > blockBytes && end > first {
			break
		}
		end++
	}
	return end
}

// expand reads a block's shards, each as it was written.
func expand(jobID string, compressed []byte) ([]json.RawMessage, error) {
	text, err := expander.DecodeAll(compressed, nil)
	if err != nil {
		return nil, fmt.Errorf("expand a block of the plan of %s: %w", jobID, err)
	}
	var shards []json.RawMessage
	if err := json.Unmarshal(text, &shards); err != nil {
		return nil, fmt.Errorf("read a block of the plan of %s: %w", jobID, err)
	}
	return shards, nil
}

// Place is that of a task in the plan of its job.
type Place struct {
	JobID   string
	Ordinal int
}

// Each calls do with the shards of a job's plan in their order, a block in memory at a time, until there are no more or do returns
// an error, which it passes on: ErrEnough ends it without one. do must not use the same transaction.
func Each(ctx context.Context, q Querier, jobID string, do func(ordinal int, shard engines.Shard) error) error {
	return eachBlock(ctx, q, jobID, func(first int, texts []json.RawMessage) error {
		for i, text := range texts {
			var shard engines.Shard
			if err := json.Unmarshal(text, &shard); err != nil {
				return fmt.Errorf("read shard %d of %s: %w", first+i, jobID, err)
			}
			if err := do(first+i, shard); err != nil {
				return err
			}
		}
		return nil
	})
}
