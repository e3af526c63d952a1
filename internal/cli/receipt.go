package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/receipt"
)

const (
	// maxReceiptBytes bounds a receipt that is read: that of a job with the most files is a third of it.
	maxReceiptBytes = 256 << 20
	// maxKeyFileBytes bounds a file of public keys.
	maxKeyFileBytes = 4 << 20
)

func receiptCommand() *cobra.Command {
	var file string
	cmd := jobCommand(cobra.Command{
		Use: "receipt JOB", Short: "Show the signed receipt of a job that has ended, or keep it with -o",
		Long: `A receipt is the service's signed statement of what a job was given, made and cost: every file with its SHA-256,
every task with what it used, the lines of your ledger. It is the same at every call. "molfabric verify" checks it, and files
against it.`,
		Example: "  molfabric receipt job_0190… -o receipt.json\n  molfabric verify receipt.json --dir results",
	}, func(ctx context.Context, inv *invocation, jobID string) error {
		answer, err := inv.api.Receipt(ctx, jobID)
		if err != nil {
			return err
		}
		switch text := bytes.TrimSpace(answer.JSON()); {
		case inv.json || file == "-":
			return inv.print(text)
		case file != "":
			if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
				return err
			}
			_, err := fmt.Fprintf(inv.out, "The receipt of %s lies in %s.\n", jobID, file)
			return err
		default:
			keys, err := inv.receiptKeys(ctx, "")
			if err != nil {
				return err
			}
			opened, err := receipt.Open(ctx, text, keys)
			if err != nil {
				return unverified(err)
			}
			return showReceiptOf(inv.out, opened)
		}
	})
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write the receipt to, as it was signed; - is standard output")
	return cmd
}

// verifyOptions are the flags of verify.
type verifyOptions struct {
	keys, folder string
	complete     bool
	sample       sampleFlags
}

func verifyCommand() *cobra.Command {
	var o verifyOptions
	var cmd *cobra.Command
	cmd = command(cobra.Command{
		Use: "verify RECEIPT", Short: "Check a receipt, and files against it; run a sample of it again",
		Long: `Checks the signature of a receipt and its Merkle root and, with --dir, every file of a folder that the receipt has:
as "molfabric outputs -o" lays them, or as they lie in an unpacked bundle. A file with other bytes is named, and the exit code
is 11.

With --keys nothing is asked of anybody: it takes the answer of GET /api/v1/receipts/keys, or a public key in PEM. Without it, the
keys are read from the server. Keep them from a day when you trusted it: who signs with a key is all that a signature tells.

--sample draws ligands of a docking by chance and docks them again as a job on your server, which may be your own "molfabric up"
with another account, and is charged there. Poses must be the same to the byte; where the programs there are others, scores may be
0.1 kcal/mol apart. What differs is named, and the exit code is 11. Of other engines that make the same each time, the whole job is
run again. It needs the submission and the input files: from --dir, by their SHA-256, or from a server that has the job.`,
		Example: "  molfabric verify receipt.json\n  molfabric verify receipt.json --keys keys.json --dir results --complete\n" +
			"  molfabric verify receipt.json --keys keys.json --dir bundle --sample 1%",
	}, one("RECEIPT"), func(ctx context.Context, inv *invocation, args []string) error {
		if err := o.sample.check(cmd); err != nil {
			return err
		}
		return inv.verify(ctx, args[0], o)
	})
	cmd.Flags().StringVar(&o.keys, "keys", "", "file with the public keys (default: ask the server)")
	cmd.Flags().StringVar(&o.folder, "dir", "", "folder with the job's files, or an unpacked bundle")
	cmd.Flags().BoolVar(&o.complete, "complete", false, "with --dir: a file of the receipt that is not there is an error too")
	o.sample.define(cmd.Flags())
	return cmd
}

func (inv *invocation) verify(ctx context.Context, path string, o verifyOptions) error {
	if o.complete && o.folder == "" {
		return usage("--complete says what --dir must hold: give both")
	}
	text, err := inv.readFile(path, maxReceiptBytes)
	if err != nil {
		return err
	}
	keys, err := inv.receiptKeys(ctx, o.keys)
	if err != nil {
		return err
	}
	opened, err := receipt.Open(ctx, text, keys)
	if err != nil {
		return unverified(err)
	}
	found := comparison{Changed: []string{}, Missing: []string{}, Unknown: []string{}}
	if o.folder != "" {
		if found, err = compareFolder(ctx, o.folder, opened.Statement.Subject); err != nil {
			return err
		}
	}
	if !inv.json {
		if err = showReceiptOf(inv.out, opened); err == nil && o.folder != "" {
			err = found.show(inv.out, o.folder)
		}
		if err != nil {
			return err
		}
	}
	var sampled *sampling
	judged := found.verdict(o)
	if judged == nil && o.sample.size != "" {
		if sampled, judged = inv.sample(ctx, opened.Statement, o); sampled == nil {
			return judged
		}
	}
	switch {
	case inv.json:
		err = inv.printVerdict(opened, found, sampled)
	case sampled != nil:
		err = sampled.show(inv.out)
	}
	if err != nil {
		return err
	}
	return judged
}

// readFile reads a file, or standard input for "-", up to a bound.
func (inv *invocation) readFile(path string, most int64) ([]byte, error) {
	source := inv.in
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, invalidInput("%v", err)
		}
		defer file.Close()
		source = file
	}
	text, err := io.ReadAll(io.LimitReader(source, most+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if int64(len(text)) > most {
		return nil, invalidInput("%s: is larger than %d MiB", path, most>>20)
	}
	return text, nil
}

// receiptKeys are the public keys of a file or, without one, of the server.
func (inv *invocation) receiptKeys(ctx context.Context, path string) ([]receipt.Key, error) {
	if path == "" {
		answer, err := inv.api.ReceiptKeys(ctx)
		if err != nil {
			return nil, err
		}
		return keysOf(answer.Body, inv.api.Server())
	}
	text, err := inv.readFile(path, maxKeyFileBytes)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(strings.TrimSpace(string(text)), "-----BEGIN") {
		key, err := receipt.ParseKey(string(text))
		if err != nil {
			return nil, invalidInput("%s: %v", path, err)
		}
		return []receipt.Key{key}, nil
	}
	var list contract.ReceiptKeyList
	if err := json.Unmarshal(text, &list); err != nil || len(list.Keys) == 0 {
		return nil, invalidInput("%s: is neither the answer of GET /api/v1/receipts/keys nor a public key in PEM", path)
	}
	return keysOf(list, path)
}

func keysOf(list contract.ReceiptKeyList, source string) ([]receipt.Key, error) {
	keys := make([]receipt.Key, len(list.Keys))
	for i, one := range list.Keys {
		key, err := receipt.ParseKey(one.PublicKey)
		if err != nil {
			return nil, invalidInput("%s: keys[%d].publicKey %v", source, i, err)
		}
		keys[i] = key
	}
	return keys, nil
}

// unverified is the error of a receipt, or of files, that do not hold.
func unverified(err error) error { return fmt.Errorf("%w: %w", errUnverified, err) }

func showReceiptOf(w io.Writer, opened receipt.Opened) error {
	p := opened.Statement.Predicate
	reused := 0
	for _, task := range p.Tasks {
		if n := len(task.Attempts); n > 0 && task.Attempts[n-1].ReusedFrom != nil {
			reused++
		}
	}
	_, err := fmt.Fprintf(w, "job       %s, %s, run %d\nengine    %s\nfiles     %d\ntasks     %d, %d of them not run again\n"+
		"charged   %d pence %s\nroot      %s over %d parts\nsigned    by the key %s\n",
		p.Job.ID, p.Job.Status, p.Job.Run, p.Engine.ID, len(opened.Statement.Subject), len(p.Tasks), reused, p.Charge.ChargedPence,
		p.Charge.Currency, p.Merkle.Root, p.Merkle.Leaves, opened.KeyID)
	return err
}

// printVerdict is what scripts read.
func (inv *invocation) printVerdict(opened receipt.Opened, found comparison, sampled *sampling) error {
	text, err := json.Marshal(struct {
		JobID string         `json:"jobId"`
		Run   int            `json:"run"`
		KeyID string         `json:"keyid"`
		Root  receipt.Merkle `json:"merkle"`
		comparison
		Sample *sampling `json:"sample,omitempty"`
	}{opened.Statement.Predicate.Job.ID, opened.Statement.Predicate.Job.Run, opened.KeyID, opened.Statement.Predicate.Merkle,
		found, sampled})
	if err != nil {
		return err
	}
	return inv.print(text)
}
