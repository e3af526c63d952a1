package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/fault"
)

// abortTimeout bounds how long an interrupted upload that is to be given up still keeps its user.
const abortTimeout = 10 * time.Second

func uploadCommand() *cobra.Command {
	var resume string
	var abort bool
	cmd := command(cobra.Command{
		Use: "upload FILE", Short: "Upload a file and print its storage key, for use in requests",
		Long: `Uploads a file and prints the storage key by which requests name it (sceneFile, an artifact's storageKey). A file of 64 MiB or more
goes up in parts, several at once, each checked by its SHA-256 where the store can; a part that fails is sent again by itself.
An upload in parts that breaks off, by Ctrl-C too, is kept on the server for a week: --resume goes on with what is missing.`,
		Example: "  molfabric upload trajectory.dcd\n  molfabric upload trajectory.dcd --resume upl_0190…\n  key=$(molfabric " +
			"upload receptor.pdb)",
	}, one("FILE"), func(ctx context.Context, inv *invocation, args []string) error {
		info, err := os.Stat(args[0])
		switch {
		case err != nil:
			return invalidInput("%v", err)
		case !info.Mode().IsRegular():
			return invalidInput("%s: is not a regular file", args[0])
		case info.Size() == 0:
			return invalidInput("%s: is empty", args[0])
		}
		if err := inv.authorized(); err != nil {
			return err
		}
		u := &uploading{inv: inv, path: args[0], info: info, resumed: resume != ""}
		uploaded, err := u.run(ctx, resume)
		if err != nil {
			return u.explain(ctx, err, abort)
		}
		return inv.showUploaded(uploaded)
	})
	cmd.Flags().StringVar(&resume, "resume", "", "id of an upload of the same file that broke off")
	cmd.Flags().BoolVar(&abort, "abort", false, "on Ctrl-C, give up an upload in parts rather than keep it for --resume")
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	return cmd
}

func (inv *invocation) showUploaded(uploaded client.Uploaded) error {
	if inv.json {
		text, err := json.Marshal(uploaded)
		if err != nil {
			return fmt.Errorf("writing the upload: %w", err)
		}
		return inv.print(text)
	}
	fmt.Fprintln(inv.out, uploaded.StorageKey)
	return nil
}

// uploading is one file on its way, and what its user is told about it.
type uploading struct {
	inv     *invocation
	path    string
	info    fs.FileInfo
	resumed bool
	id      string // of an upload in parts, once it has begun
	start   time.Time
	shown   display
}

func (u *uploading) run(ctx context.Context, resume string) (client.Uploaded, error) {
	uploaded, err := u.inv.api.UploadFileWith(ctx, u.path, client.UploadOptions{Resume: resume, Begun: u.begun,
		Progress: u.progress})
	if u.shown != nil {
		u.shown.close(err == nil)
	}
	return uploaded, err
}

// begun tells at once how to go on, for uploads that end without a chance to say so.
func (u *uploading) begun(uploadID string) {
	u.id = uploadID
	if !u.resumed {
		fmt.Fprintf(u.inv.err, "Upload %s has begun; if it breaks off, this goes on with it:\n  %s\n", uploadID, u.again())
	}
}

func (u *uploading) again() string {
	return fmt.Sprintf("molfabric upload %s --resume %s", shellWord(u.path), u.id)
}

// progress is called for one change after another.
func (u *uploading) progress(sent, there int64) {
	if u.shown == nil {
		u.start, u.shown = u.inv.now(), noDisplay{}
		if !u.inv.json {
			u.shown = newDisplay(u.inv.err, u.inv.now, 0)
		}
	}
	total := u.info.Size()
	u.shown.update(100*float64(sent+there)/float64(total), transferText(sent, there, total, u.inv.now().Sub(u.start)))
}

// rateAfter is what must have passed before a rate is more than chance.
const rateAfter = time.Second

// transferText says how much of a file is there, and how fast the rest goes.
func transferText(sent, there, total int64, spent time.Duration) string {
	text := fmt.Sprintf("%s of %s", bytesText(sent+there), bytesText(total))
	if spent < rateAfter {
		return text
	}
	return fmt.Sprintf("%s, %s/s", text, bytesText(int64(float64(max(sent, 0))/spent.Seconds())))
}

// explain says what an upload that broke off leaves behind.
func (u *uploading) explain(ctx context.Context, err error, abort bool) error {
	interrupted := ctx.Err() != nil
	switch {
	case interrupted && u.id == "":
		fmt.Fprintln(u.inv.err, "Interrupted; nothing was uploaded.")
	case interrupted && abort:
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
		defer cancel()
		if err := u.inv.api.AbortUpload(ending, u.id); err != nil {
			fmt.Fprintf(u.inv.err, "Interrupted; the server did not hear that upload %s is given up, and ends it within a "+
				"week: %v\n", u.id, err)
		} else {
			fmt.Fprintf(u.inv.err, "Interrupted; upload %s is given up.\n", u.id)
		}
	case interrupted:
		fmt.Fprintf(u.inv.err, "Interrupted; what has arrived is kept for a week, and this goes on with the rest:\n  %s\n",
			u.again())
	case u.id != "" && ExitCode(err) == ExitUnavailable:
		return &advisedError{err, "what has arrived is kept for a week; this goes on with the rest: " + u.again()}
	case u.resumed:
		return advise(err, fault.NotFound, "no such upload of yours, or it was given up: upload the file anew, without --resume")
	}
	if interrupted {
		return errInterrupted
	}
	return err
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./+:@%,=-]+$`)

// shellWord writes a text so that a shell takes it for one word.
func shellWord(text string) string {
	if plainWord.MatchString(text) && !strings.HasPrefix(text, "-") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
