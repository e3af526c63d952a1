package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

func projectsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "projects", Short: "Keep documents with their history: list, show, save, restore and share them",
		Args: cobra.ArbitraryArgs, RunE: groupRun, Long: `Keeps JSON documents, such as a molecular scene, with every version that was ever saved. A change names the version that it is made
to, so that nobody overwrites what somebody else has saved meanwhile: with --expect the one that you have worked on, else the
newest at the moment of the command.`,
		Example: "  molfabric projects save scene.json --name \"ABL1 and imatinib\"\n  molfabric projects show 019a… -o " +
			"scene.json\n" +
			"  molfabric projects save scene.json --project 019a… --expect 3\n  molfabric projects share 019a…",
	}
	cmd.AddCommand(
		projectsListCommand(), projectsShowCommand(), projectsSaveCommand(), projectsHistoryCommand(), projectsRestoreCommand(),
		projectsShareCommand(), projectsRevokeCommand(), projectsDeleteCommand(),
	)
	return cmd
}

// projectCommand makes a command on projects, whose errors name the way to a project that exists.
func projectCommand(
	spec cobra.Command, args cobra.PositionalArgs, run func(ctx context.Context, inv *invocation, args []string) error,
) *cobra.Command {
	return command(spec, args, func(ctx context.Context, inv *invocation, given []string) error {
		if err := inv.authorized(); err != nil {
			return err
		}
		return explainConflict(advise(run(ctx, inv, given), fault.NotFound,
			"`molfabric projects list` lists yours, `molfabric projects history` their versions"))
	})
}

// explainConflict says plainly that somebody else was first.
func explainConflict(err error) error {
	var answer *client.Error
	if client.CodeOf(err) != fault.VersionConflict || !errors.As(err, &answer) {
		return err
	}
	return &advisedError{
		fmt.Errorf("nothing was changed, the project is at version %d by now: %w", answer.CurrentVersion, err),
		"`molfabric projects show` shows that version; bring your change to it, and repeat with --expect " +
			strconv.FormatInt(answer.CurrentVersion, 10),
	}
}

// expectFlag lets a user name the version that a change is made to.
func expectFlag(cmd *cobra.Command, expect *int64) {
	cmd.Flags().Int64Var(expect, "expect", 0, "version that you have worked on; refused when there is a newer one (default the "+
		"newest)")
}

// head is the version that a change is made to.
func (inv *invocation) head(ctx context.Context, projectID string, expect int64) (int64, error) {
	if expect > 0 {
		return expect, nil
	}
	project, err := inv.api.Project(ctx, projectID)
	return project.Body.CurrentVersion, err
}

func projectsListCommand() *cobra.Command {
	var page client.Page
	cmd := projectCommand(cobra.Command{Use: "list", Short: "List your projects, newest first"}, cobra.NoArgs,
		func(ctx context.Context, inv *invocation, _ []string) error {
			projects, err := inv.api.Projects(ctx, page)
			return present(inv, projects, err, func(w io.Writer, page contract.ProjectList) error {
				return more(w, projectsTable(w, page.Projects), page.NextCursor)
			})
		})
	pageFlags(cmd, &page)
	return cmd
}

func projectsShowCommand() *cobra.Command {
	var version int64
	var file string
	cmd := projectCommand(cobra.Command{
		Use: "show ID", Short: "Show a project, or write its content, of any version, with -o",
		Example: "  molfabric projects show 019a…\n  molfabric projects show 019a… --version 2 -o -",
	}, one("ID"), func(ctx context.Context, inv *invocation, args []string) error {
		if version > 0 {
			return inv.showRevision(ctx, args[0], version, file)
		}
		project, err := inv.api.Project(ctx, args[0])
		if err != nil {
			return err
		}
		if file != "" {
			if err := writeJSON(inv.out, file, project.Body.Content); err != nil || file == "-" {
				return err
			}
		}
		if inv.json {
			return inv.print(project.JSON())
		}
		showProject(inv.out, inv.api.Server(), project.Body)
		return nil
	})
	cmd.Flags().Int64Var(&version, "version", 0, "an earlier version (default the newest)")
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write the content to, as JSON; - is standard output")
	return cmd
}

func (inv *invocation) showRevision(ctx context.Context, projectID string, version int64, file string) error {
	revision, err := inv.api.Revision(ctx, projectID, version)
	if err != nil {
		return err
	}
	if file != "" {
		if err := writeJSON(inv.out, file, revision.Body.Content); err != nil || file == "-" {
			return err
		}
	}
	if inv.json {
		return inv.print(revision.JSON())
	}
	return revisionsTable(inv.out, []contract.ProjectRevisionSummary{revision.Body.ProjectRevisionSummary})
}

// draftFlags are what a save may say beside the content.
type draftFlags struct {
	cmd                        *cobra.Command
	project, name, description string
	tags                       []string
	expect                     int64
}

func projectsSaveCommand() *cobra.Command {
	var flags draftFlags
	cmd := projectCommand(cobra.Command{
		Use: "save FILE", Short: "Save a JSON file as a new project, or as a project's next version",
		Long: `Saves a JSON object, from a file or, with -, from standard input. Without --project it makes a project. With it, the project gets a
new version; its name, description and tags stay where no flag names others.`,
		Example: "  molfabric projects save scene.json --name \"ABL1 and imatinib\" --tag kinase\n  molfabric projects save " +
			"scene.json --project 019a… --expect 3",
	}, one("FILE"), func(ctx context.Context, inv *invocation, args []string) error {
		saved, err := flags.save(ctx, inv, args[0])
		return inv.showSaved(saved, err, "saved")
	})
	flags.cmd = cmd
	cmd.Flags().StringVar(&flags.project, "project", "", "id of the project that gets a new version")
	cmd.Flags().StringVar(&flags.name, "name", "", "name of the project (default the file's, or the one that it has)")
	cmd.Flags().StringVar(&flags.description, "description", "", "what the project is about")
	cmd.Flags().StringArrayVar(&flags.tags, "tag", nil, "a word to find the project by; may be repeated")
	expectFlag(cmd, &flags.expect)
	return cmd
}

func (f *draftFlags) save(ctx context.Context, inv *invocation, file string) (saved client.Answer[contract.Project], err error) {
	content, err := inv.readRequest([]string{file})
	if err != nil {
		return saved, err
	}
	draft := contract.ProjectCreateRequest{
		Name: f.name, Description: f.description, Tags: f.tags, Content: contract.Content(content),
	}
	if f.project == "" {
		if draft.Name == "" && file == "-" {
			return saved, usage("--name is missing: a new project from standard input needs one")
		}
		draft.Name = first(draft.Name, strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
		return inv.api.CreateProject(ctx, draft)
	}
	head, err := inv.api.Project(ctx, f.project)
	if err != nil {
		return saved, err
	}
	old := head.Body
	for flag, keep := range map[string]func(){
		"name": func() { draft.Name = old.Name }, "description": func() { draft.Description = old.Description },
		"tag": func() { draft.Tags = old.Tags },
	} {
		if !f.cmd.Flags().Changed(flag) {
			keep()
		}
	}
	expected := old.CurrentVersion
	if f.expect > 0 {
		expected = f.expect
	}
	return inv.api.SaveProject(ctx, f.project, expected, draft)
}

// showSaved says what has become of a project. err is the call's.
func (inv *invocation) showSaved(saved client.Answer[contract.Project], err error, what string) error {
	return present(inv, saved, err, func(w io.Writer, p contract.Project) error {
		_, err := fmt.Fprintf(w, "Project %s, %q, is %s as version %d.\n", p.ProjectID, p.Name, what, p.CurrentVersion)
		return err
	})
}

func projectsHistoryCommand() *cobra.Command {
	var page client.Page
	cmd := projectCommand(cobra.Command{Use: "history ID", Short: "List a project's versions, newest first"}, one("ID"),
		func(ctx context.Context, inv *invocation, args []string) error {
			revisions, err := inv.api.Revisions(ctx, args[0], page)
			return present(inv, revisions, err, func(w io.Writer, page contract.ProjectRevisionList) error {
				return more(w, revisionsTable(w, page.Revisions), page.NextCursor)
			})
		})
	pageFlags(cmd, &page)
	return cmd
}

func projectsRestoreCommand() *cobra.Command {
	var expect int64
	cmd := projectCommand(cobra.Command{
		Use: "restore ID VERSION", Short: "Make an earlier version's content the newest again",
		Long: "Appends a version with the content of an earlier one. Nothing is lost: the versions between stay.",
	}, two("ID", "VERSION"), func(ctx context.Context, inv *invocation, args []string) error {
		version, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil || version < 1 {
			return usage("VERSION %q: write a number; `molfabric projects history` lists them", args[1])
		}
		head, err := inv.head(ctx, args[0], expect)
		if err != nil {
			return err
		}
		restored, err := inv.api.RestoreProject(ctx, args[0], version, head)
		return inv.showSaved(restored, err, fmt.Sprintf("back at version %d, saved", version))
	})
	expectFlag(cmd, &expect)
	return cmd
}

func projectsShareCommand() *cobra.Command {
	var expect int64
	cmd := projectCommand(cobra.Command{
		Use: "share ID", Short: "Make a link to a project's newest version; the link from before ends",
		Long: "Prints the address of a page that shows this version to whoever has the link. Later versions do not move it.",
	}, one("ID"), func(ctx context.Context, inv *invocation, args []string) error {
		head, err := inv.head(ctx, args[0], expect)
		if err != nil {
			return err
		}
		share, err := inv.api.ShareProject(ctx, args[0], head)
		return present(inv, share, err, func(w io.Writer, s contract.ProjectShareAnswer) error {
			fmt.Fprintln(w, inv.api.Server()+s.URL)
			_, err := fmt.Fprintf(inv.err, "Whoever has the link sees version %d; `molfabric projects revoke %s` ends it.\n",
				s.Version, args[0])
			return err
		})
	})
	expectFlag(cmd, &expect)
	return cmd
}

func projectsRevokeCommand() *cobra.Command {
	var expect int64
	cmd := projectCommand(cobra.Command{Use: "revoke ID", Short: "End the link to a project"}, one("ID"),
		func(ctx context.Context, inv *invocation, args []string) error {
			head, err := inv.head(ctx, args[0], expect)
			if err == nil {
				err = inv.api.RevokeShare(ctx, args[0], head)
			}
			if err == nil && !inv.json {
				fmt.Fprintf(inv.out, "Project %s is shared no more.\n", args[0])
			}
			return err
		})
	expectFlag(cmd, &expect)
	return cmd
}

func projectsDeleteCommand() *cobra.Command {
	var expect int64
	var sure bool
	cmd := projectCommand(cobra.Command{
		Use: "delete ID --yes", Short: "Delete a project with all its versions, for good",
	}, one("ID"), func(ctx context.Context, inv *invocation, args []string) error {
		if !sure {
			return usage("a deleted project is gone with all its versions: add --yes")
		}
		head, err := inv.head(ctx, args[0], expect)
		if err == nil {
			err = inv.api.DeleteProject(ctx, args[0], head)
		}
		if err == nil && !inv.json {
			fmt.Fprintf(inv.out, "Project %s is deleted.\n", args[0])
		}
		return err
	})
	cmd.Flags().BoolVar(&sure, "yes", false, "delete it")
	expectFlag(cmd, &expect)
	return cmd
}
