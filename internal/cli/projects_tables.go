package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/molfabric/molfabric/internal/contract"
)

func projectsTable(w io.Writer, projects []contract.ProjectSummary) error {
	if len(projects) == 0 {
		_, err := fmt.Fprintln(w, "No projects.")
		return err
	}
	t := newTable(painter(w), []int{3}, "project", "name", "version", "saved", "tags", "shared")
	for _, project := range projects {
		shared := ""
		if project.Share != nil {
			shared = fmt.Sprintf("version %d", project.Share.Version)
		}
		t.AppendRow(table.Row{
			project.ProjectID, shorten(project.Name, 40), project.CurrentVersion, clock(project.UpdatedAt),
			shorten(strings.Join(project.Tags, " "), 30), shared,
		})
	}
	return render(w, t)
}

func revisionsTable(w io.Writer, revisions []contract.ProjectRevisionSummary) error {
	t := newTable(painter(w), []int{1}, "version", "saved", "sha256", "restored from")
	for _, revision := range revisions {
		from := ""
		if revision.SourceVersion != nil {
			from = fmt.Sprintf("version %d", *revision.SourceVersion)
		}
		t.AppendRow(table.Row{revision.Version, clock(revision.CreatedAt), shorten(revision.ContentSHA256, 13), from})
	}
	return render(w, t)
}

func showProject(w io.Writer, server string, project contract.Project) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-11s %s\n", name, value)
		}
	}
	line("project", project.ProjectID)
	line("name", project.Name)
	line("description", project.Description)
	line("tags", strings.Join(project.Tags, " "))
	line("version", strconv.FormatInt(project.CurrentVersion, 10))
	line("content", fmt.Sprintf("%s, sha256 %s", bytesText(int64(len(project.Content))), project.ContentSHA256))
	if project.Share != nil {
		line("shared", fmt.Sprintf("version %d at %s%s", project.Share.Version, server, project.Share.URL))
	}
	line("made", clock(project.CreatedAt))
	line("saved", clock(project.UpdatedAt))
}
