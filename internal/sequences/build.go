package sequences

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/proc"
	"github.com/molfabric/molfabric/internal/servers"
)

const (
	// buildTimeout bounds makeblastdb: it takes about 30 MB of FASTA a second, so that the largest source needs three hours.
	buildTimeout = 12 * time.Hour
	// stopGrace is what makeblastdb gets to end by itself.
	stopGrace = 5 * time.Second
	// maxOutputBytes is what is kept of what it prints; it warns of every single thing.
	maxOutputBytes = 16 << 10
	// maxReasonBytes is what is shown of it.
	maxReasonBytes = 600
	// maxFiles bounds a database: the largest source gives about 300 volumes of three files.
	maxFiles = 2_000
)

const (
	builder        = "makeblastdb"
	builderInstall = "apt-get install ncbi-blast+"
)

// Steps of an addition, as Progress hears of them.
const (
	StepRead  = "reading"
	StepBuild = "building"
	StepStore = "storing"
)

// Built is a database whose files lie in a folder.
type Built struct {
	Database
	Dir string
}

// Build reads a FASTA and lets makeblastdb write its database into dir, which must be empty.
//
// The ids are not parsed (-parse_seqids). Measured with BLAST+ 2.12: parsed, an id with an unknown prefix and bars, one of more
// than 50 characters, or two that differ in case alone or in their prefixes alone stop the build; commas are replaced; and the
// tabular report shows "P12345" for "sp|P12345|AATM_RABIT". Unparsed, every report keeps the first word of the header as it is, and
// the JSON report has it at the head of the subject's title.
//
// Errors: *servers.MissingError without makeblastdb; all others say what is wrong with the FASTA or the description.
func Build(ctx context.Context, source Source, dir string, report Progress) (Built, error) {
	source, err := source.completed()
	if err != nil {
		return Built{}, err
	}
	program, err := builderVersion(ctx)
	if err != nil {
		return Built{}, err
	}
	held, err := inspect(ctx, source.Path, source.Type, func(done, total int64) { report.tell(StepRead, done, total) })
	if err != nil {
		return Built{}, err
	}
	return build(ctx, source, held, program, dir, report)
}

// build is Build behind its checks.
func build(ctx context.Context, source Source, held contents, program, dir string, report Progress) (Built, error) {
	if err := runBuilder(ctx, source, held, dir, report); err != nil {
		return Built{}, err
	}
	releasedOn, err := time.Parse(dateForm, source.ReleasedOn)
	if err != nil {
		return Built{}, err
	}
	d := Database{Name: source.Name, Version: source.Version, ReleasedOn: source.ReleasedOn, Type: held.Type, Title: source.Title,
		Sequences: held.Sequences, Residues: held.Residues, SourceSHA256: held.SHA256, Program: program}
	if err := settle(dir, d, releasedOn); err != nil {
		return Built{}, fmt.Errorf("what %s has written: %w", builder, err)
	}
	if d.Files, err = digests(ctx, dir); err != nil {
		return Built{}, err
	}
	for _, f := range d.Files {
		d.Bytes += f.ByteSize
	}
	d.Checksum = checksumOf(d.Files)
	return Built{d, dir}, nil
}

// builderVersion is the name and version of the installed makeblastdb. Errors: *servers.MissingError.
func builderVersion(ctx context.Context) (string, error) {
	path, err := exec.LookPath(builder)
	if err != nil {
		return "", &servers.MissingError{Program: builder, Install: builderInstall}
	}
	output, err := exec.CommandContext(ctx, path, "-version").Output()
	// It prints "makeblastdb: 2.12.0+" and a line about its build.
	line, _, _ := strings.Cut(string(output), "\n")
	version, ok := strings.CutPrefix(strings.TrimSpace(line), builder+": ")
	if err == nil && !ok {
		err = fmt.Errorf("it printed %.80q", line)
	}
	if err != nil {
		return "", fmt.Errorf("%s does not tell its version: %w", path, err)
	}
	return builder + " " + version, nil
}

// runBuilder feeds the FASTA to makeblastdb once more, and makes sure that it is still the same.
func runBuilder(ctx context.Context, source Source, held contents, dir string, report Progress) error {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	fasta, err := openSource(ctx, source.Path, func(done, total int64) { report.tell(StepBuild, done, total) })
	if err != nil {
		return err
	}
	defer func() { _ = fasta.Close() }() // only read
	sum := sha256.New()
	printed := &tail{}
	args := []string{"-in", "-", "-input_type", "fasta", "-dbtype", held.Type, "-blastdb_version", fmt.Sprint(indexVersion),
		"-title", source.Title, "-out", source.Name}
	if source.volumeBytes > 0 {
		args = append(args, "-max_file_sz", fmt.Sprint(source.volumeBytes))
	}
	cmd := exec.Command(builder, args...) //nolint:noctx // its group is stopped below
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, io.TeeReader(fasta, sum), printed, printed
	// Its own configuration and home files could change what it does, and it would report its use to NCBI.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C", "TZ=UTC",
		"BLAST_USAGE_REPORT=false"}
	cmd.WaitDelay = stopGrace
	if err := proc.Start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", builder, err)
	}
	exited := make(chan struct{})
	go func() { err = cmd.Wait(); close(exited) }()
	select {
	case <-exited:
	case <-ctx.Done():
		_ = proc.Stop(context.WithoutCancel(ctx), cmd.Process.Pid, exited, syscall.SIGTERM, stopGrace)
		<-exited
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("%s did not end within %s", builder, buildTimeout)
		}
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s refused %s: %s (%w)", builder, source.Path, printed.reason(), err)
	}
	if found := hex.EncodeToString(sum.Sum(nil)); found != held.SHA256 {
		return fmt.Errorf("%s was changed while it was read; add it again when it is complete", source.Path)
	}
	return nil
}

// tail keeps the end of what a program prints.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	t.Buffer.Write(p)
	if extra := t.Len() - maxOutputBytes; extra > 0 {
		t.Next(extra)
	}
	return len(p), nil
}

// reason is what makeblastdb said at last: its errors, without the words that every one begins with and the settings that it
// prints.
func (t *tail) reason() string {
	var lines []string
	for line := range strings.Lines(t.String()) {
		line = strings.TrimSpace(line)
		for _, opening := range []string{"BLAST Database creation error:", "BLAST options error:", "BLAST engine error:",
			"Error:"} {
			line = strings.TrimSpace(strings.TrimPrefix(line, opening))
		}
		isSetting := slices.ContainsFunc([]string{"Building a new DB", "New DB ", "Sequence type:", "Keep MBits:",
			"Maximum file size:"}, func(p string) bool { return strings.HasPrefix(line, p) })
		if line != "" && !isSetting {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "; ")
	if text == "" {
		return "it gave no reason"
	}
	return strings.ToValidUTF8(text[max(0, len(text)-maxReasonBytes):], "")
}

// settle makes what makeblastdb has written depend on its input alone, and checks that nothing of the input is missing.
func settle(dir string, d Database, releasedOn time.Time) error {
	letter := d.Type[:1] // of .pin and .nin
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var totals indexTotals
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if !entry.Type().IsRegular() || !strings.HasPrefix(entry.Name(), d.Name+".") {
			return fmt.Errorf("%q is no file of the database", entry.Name())
		}
		switch filepath.Ext(entry.Name()) {
		case "." + letter + "in":
			volume, err := restamp(path, releasedOn)
			if err != nil {
				return fmt.Errorf("%s: %w", entry.Name(), err)
			}
			totals.sequences += volume.sequences
			totals.residues += volume.residues
		case "." + letter + "al":
			err = restampAlias(path, releasedOn)
		case "." + letter + "js": // for programs that download databases, with the minute of the build; no search reads it
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	if totals != (indexTotals{d.Sequences, d.Residues}) {
		return fmt.Errorf("holds %d sequences of %d letters, and the FASTA has %d of %d", totals.sequences, totals.residues,
			d.Sequences, d.Residues)
	}
	return nil
}

// digests lists the files of a folder, by name.
func digests(ctx context.Context, dir string) ([]File, error) {
	entries, err := os.ReadDir(dir) // by name
	if err != nil {
		return nil, err
	}
	if len(entries) > maxFiles {
		return nil, fmt.Errorf("the database has %d files; at most %d are kept", len(entries), maxFiles)
	}
	files := make([]File, len(entries))
	for i, entry := range entries {
		if files[i], err = digest(ctx, filepath.Join(dir, entry.Name())); err != nil {
			return nil, err
		}
		if files[i].ByteSize > object.MaxObjectBytes {
			return nil, fmt.Errorf("%s has %d bytes; at most %d are kept in one file", entry.Name(), files[i].ByteSize,
				int64(object.MaxObjectBytes))
		}
	}
	return files, nil
}

func digest(ctx context.Context, path string) (File, error) {
	file, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer func() { _ = file.Close() }() // only read
	sum := sha256.New()
	size, err := io.Copy(sum, &meter{ctx: ctx, from: file, report: func(int64, int64) {}})
	return File{Name: filepath.Base(path), SHA256: hex.EncodeToString(sum.Sum(nil)), ByteSize: size}, err
}
