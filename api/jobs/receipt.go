package jobs

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/receipt"
)

// Receipt is the signed statement of a job that has ended. It is signed when it is first asked for, from rows that no longer
// change, and kept: so it is the same at every call, whatever becomes of the key. Errors: fault.NotFound, fault.FilesDeleted,
// fault.JobNotEnded, fault.PayloadTooLarge.
func (s *Service) Receipt(ctx context.Context, accountID, jobID string) (contract.Receipt, error) {
	status, err := s.withFiles(ctx, accountID, jobID)
	if err != nil {
		return contract.Receipt{}, err
	}
	if !status.Terminal() {
		return contract.Receipt{}, fault.New(fault.JobNotEnded, "id: the job is %s and has a receipt once it has ended; "+
			"wait for that, or cancel it", status)
	}
	kept, found, err := s.store.receiptOf(ctx, accountID, jobID)
	if err == nil && !found {
		kept, err = s.signReceipt(ctx, accountID, jobID)
	}
	if err != nil {
		return contract.Receipt{}, err
	}
	return contract.Receipt{
		PayloadType: receipt.PayloadType, Payload: base64.StdEncoding.EncodeToString(kept.Statement),
		Signatures: []contract.ReceiptSignature{{KeyID: kept.KeyID, Sig: base64.StdEncoding.EncodeToString(kept.Signature)}},
	}, nil
}

// KeptReceipt is Receipt as JSON, to lie beside the job's files.
func (s *Service) KeptReceipt(ctx context.Context, accountID, jobID string) (json.RawMessage, error) {
	made, err := s.Receipt(ctx, accountID, jobID)
	if err != nil {
		return nil, err
	}
	return json.Marshal(made)
}

// signReceipt makes and keeps the receipt. Of two that are made at once, one is kept and answered.
func (s *Service) signReceipt(ctx context.Context, accountID, jobID string) (signed, error) {
	if s.deps.Receipts == nil {
		return signed{}, fmt.Errorf("the receipt of job %s: this service has no key to sign it with", jobID)
	}
	rows, err := s.store.stated(ctx, accountID, jobID)
	if err != nil {
		return signed{}, err
	}
	if len(rows.Outputs) > maxReceiptOutputs {
		return signed{}, fault.New(fault.PayloadTooLarge, "id: the job has more than %d files, which is the most that a receipt "+
			"lists", maxReceiptOutputs)
	}
	statement, err := receipt.Encode(rows.statement(s.deps.Currency))
	if err != nil {
		return signed{}, err
	}
	signature, err := s.deps.Receipts.Sign(ctx, statement)
	if err != nil {
		return signed{}, err
	}
	key := s.deps.Receipts.Key()
	made := signed{KeyID: key.ID(), Statement: statement, Signature: signature}
	if err := s.store.keepReceipt(ctx, accountID, jobID, rows.Job.Attempts, key, made, s.deps.Now().UTC()); err != nil {
		return signed{}, err
	}
	kept, found, err := s.store.receiptOf(ctx, accountID, jobID)
	if err == nil && !found { // a retry has begun, or the files were deleted, in this moment
		_, err = s.withFiles(ctx, accountID, jobID)
		if err == nil {
			err = fault.New(fault.JobNotEnded, "id: the job was begun again; wait for its end")
		}
	}
	return kept, err
}

// ReceiptKeys lists the public keys of receipts: the one that signs now, and all that have ever signed.
func (s *Service) ReceiptKeys(ctx context.Context) (contract.ReceiptKeyList, error) {
	rows, err := s.store.receiptKeys(ctx)
	if err != nil {
		return contract.ReceiptKeyList{}, err
	}
	keys := []receipt.Key{}
	if s.deps.Receipts != nil {
		keys = append(keys, s.deps.Receipts.Key())
	}
	for _, row := range rows {
		key, err := receipt.NewKey(row.PublicKey)
		if err != nil {
			return contract.ReceiptKeyList{}, err
		}
		if !slices.ContainsFunc(keys, func(k receipt.Key) bool { return k.ID() == key.ID() }) {
			keys = append(keys, key)
		}
	}
	list := contract.ReceiptKeyList{Keys: make([]contract.ReceiptKey, len(keys))}
	for i, key := range keys {
		text, err := key.PEM()
		if err != nil {
			return contract.ReceiptKeyList{}, err
		}
		list.Keys[i] = contract.ReceiptKey{KeyID: key.ID(), Algorithm: receipt.Algorithm, PublicKey: text,
			Current: s.deps.Receipts != nil && key.ID() == s.deps.Receipts.Key().ID()}
	}
	return list, nil
}

// statement says what the rows say.
func (f stated) statement(currency string) receipt.Statement {
	r := f.Job
	return receipt.Statement{Subject: f.outputs(), Predicate: receipt.Predicate{
		Job: receipt.Job{ID: r.ID, Type: r.JobType, Status: string(r.Status), Run: r.Attempts, CreatedAt: r.CreatedAt.UTC(),
			FinishedAt: r.FinishedAt.Time.UTC()},
		Engine: receipt.Engine{ID: r.Simulator.String, Programs: past{Programs: f.Programs}.programs(),
			Toolchains: f.toolchains()},
		Parameters: receipt.Parameters{Digest: receipt.Digest{SHA256: r.RequestSHA256}, ByteSize: r.RequestByteSize},
		Inputs:     f.inputs(), Tasks: f.tasks(), Ledger: f.ledger(),
		Charge: receipt.Charge{Currency: currency, AccruedMicropence: r.AccruedMicropence, ChargedPence: r.ChargedPence.Int64},
	}}
}

func (f stated) outputs() []receipt.Output {
	outputs := make([]receipt.Output, len(f.Outputs))
	for i, o := range f.Outputs {
		outputs[i] = receipt.Output{Digest: receipt.Digest{SHA256: o.SHA256}, Annotations: receipt.Annotations{
			ArtifactID: o.ID, FileName: o.Name, Task: o.Task, TaskIndex: o.TaskIndex, Role: o.Role, ByteSize: o.ByteSize}}
	}
	receipt.NameOutputs(outputs)
	return outputs
}

func (f stated) toolchains() []string {
	found := []string{}
	for _, task := range f.Tasks {
		if task.Toolchain.String != "" && !slices.Contains(found, task.Toolchain.String) {
			found = append(found, task.Toolchain.String)
		}
	}
	slices.Sort(found)
	return found
}

func (f stated) inputs() []receipt.Input {
	inputs := make([]receipt.Input, len(f.Inputs))
	for i, row := range f.Inputs {
		inputs[i].Name = row.StorageKey
		if row.SHA256.Valid {
			inputs[i].Digest = &receipt.Digest{SHA256: row.SHA256.String}
		}
	}
	return inputs
}

func (f stated) tasks() []receipt.Task {
	attempts := map[string][]receipt.Attempt{}
	for _, row := range f.Attempts {
		attempts[row.TaskID] = append(attempts[row.TaskID], row.stated())
	}
	tasks := make([]receipt.Task, len(f.Tasks))
	for i, t := range f.Tasks {
		tasks[i] = receipt.Task{ID: t.ID, Index: t.Ordinal, Name: t.Name, Stage: t.Stage, Status: t.Status,
			Identity: hex.EncodeToString(t.Identity), Toolchain: t.Toolchain.String,
			Attempts: append([]receipt.Attempt{}, attempts[t.ID]...)}
	}
	return tasks
}

func (a attempt) stated() receipt.Attempt {
	made := receipt.Attempt{Attempt: a.Attempt, Run: a.Run, Outcome: a.Outcome, CPUMicroseconds: a.CPUMicroseconds,
		GPUMicroseconds: a.GPUMicroseconds, WallMs: a.WallMs, PeakMemoryBytes: a.PeakMemoryBytes,
		ChargedMicropence: a.ChargedMicropence, FinishedAt: a.FinishedAt.UTC()}
	if a.StartedAt != nil {
		at := a.StartedAt.UTC()
		made.StartedAt = &at
	}
	if from := a.reused.view(); from != nil {
		made.ReusedFrom = &receipt.Source{JobID: from.JobID, TaskID: from.TaskID, Attempt: from.Attempt}
	}
	return made
}

func (f stated) ledger() []receipt.Line {
	lines := make([]receipt.Line, len(f.Ledger))
	for i, l := range f.Ledger {
		lines[i] = receipt.Line{ID: l.ID, Run: l.Run, Type: l.Type, Bucket: l.Bucket, AmountPence: l.AmountPence,
			CreatedAt: l.CreatedAt.UTC()}
	}
	return lines
}
