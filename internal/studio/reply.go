package studio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/molfabric/molfabric/internal/scene"
)

// inWords says what operations did, a sentence each.
func inWords(operations []scene.Operation, outcomes []scene.Outcome) string {
	sentences := make([]string, 0, len(operations))
	for i, operation := range operations {
		sentences = append(sentences, sentence(operation, outcomes[i]))
	}
	return strings.Join(sentences, " ")
}

// sentence says what one operation did: to what, how much of it, and what came out.
func sentence(operation scene.Operation, outcome scene.Outcome) string {
	switch args := operation.Args.(type) {
	case scene.Describe:
		return outcome.Text
	case scene.Load:
		return "Loaded " + outcome.Text
	case scene.Measure:
		return fmt.Sprintf("The %s between %s is %s.", args.Kind, strings.Join(args.Between, " and "), outcome.Text)
	case scene.Undo:
		return "Undone."
	case scene.Redo:
		return "Done again."
	}
	said := deed(operation.Args)
	if selections := outcome.Selections; len(selections) > 0 {
		counted := selections[len(selections)-1]
		if _, ok := operation.Args.(scene.Interactions); ok {
			counted = selections[0] // what the contacts are of; their other side comes behind it
		}
		said += " (" + counts(counted) + ")"
	}
	if outcome.Text != "" {
		said += ": " + strings.TrimSuffix(outcome.Text, ".")
	}
	return said + "."
}

// deed says what an operation does, without its full stop.
func deed(args scene.Args) string {
	switch args := args.(type) {
	case scene.Select:
		if args.Name != "" {
			return fmt.Sprintf("%s is called %s from now on", args.Sel, args.Name)
		}
		return "Selected " + args.Sel
	case scene.Show:
		return "Shown: " + args.Sel + as(args.As)
	case scene.Hide:
		return "Hidden: " + args.Sel + as(args.As)
	case scene.Isolate:
		return "Nothing but " + args.Sel + " is shown"
	case scene.Color:
		return "Coloured " + args.Sel + hue(args.Color, args.By) + as(args.As)
	case scene.Opacity:
		return fmt.Sprintf("%s at %g %% opacity%s", args.Sel, 100*args.Value, as(args.As))
	case scene.Surface:
		return "Surface of " + args.Sel + hue(args.Color, args.By)
	case scene.Highlight:
		return "Highlighted " + args.Sel
	case scene.Label:
		return "Labelled " + args.Sel + " by " + args.Level
	case scene.Pocket:
		return "The pocket around " + args.Of
	case scene.Interactions:
		return "Contacts of " + args.Of
	case scene.Clear:
		return "Cleared " + strings.ReplaceAll(args.What, "_", " ")
	case scene.Focus:
		return "Looking at " + args.Sel
	default:
		return stageDeed(args)
	}
}

// stageDeed is deed for operations on what is around the atoms.
func stageDeed(args scene.Args) string {
	switch args := args.(type) {
	case scene.ChooseStructure:
		switch {
		case args.Assembly != "":
			return "Assembly " + args.Assembly
		case args.AllModels != nil && *args.AllModels:
			return "All models"
		}
		return fmt.Sprintf("Model %d", args.Model)
	case scene.Zoom:
		if args.Factor > 1 {
			return fmt.Sprintf("%g times closer", args.Factor)
		}
		return fmt.Sprintf("%.3g times farther away", 1/args.Factor)
	case scene.Orient:
		if args.View != "" {
			return "Seen from the " + args.View
		}
		if args.Degrees != nil {
			return fmt.Sprintf("Turned by %g° about %s", *args.Degrees, args.Axis)
		}
		return "Turned"
	case scene.Spin:
		if args.Mode == "off" {
			return "Standing still"
		}
		return "Turning while it is looked at"
	case scene.Background:
		if args.Transparent != nil && *args.Transparent {
			return "No background in pictures"
		}
		return "Background " + args.Color
	case scene.Effects:
		return "Effects set"
	case scene.Clip:
		if args.Mode == "off" {
			return "Nothing is clipped"
		}
		return "Clipped through " + args.Through
	case scene.Preset:
		return "Preset " + strings.ReplaceAll(args.Name, "_", " ")
	case scene.Volume:
		return "Map " + args.Source
	case scene.Reset:
		return "Reset the " + args.What
	case scene.TakeSnapshot:
		return "Kept this view"
	case scene.Render:
		return "A picture costs money: say yes to order it"
	case scene.Export:
		return "The scene can be had as ." + args.Format
	}
	return "Done"
}

// as names a representation.
func as(representation string) string {
	if representation == "" {
		return ""
	}
	return " as " + strings.ReplaceAll(representation, "_", " ")
}

func hue(color, by string) string {
	switch {
	case color != "":
		return " " + color
	case by != "":
		return " by " + strings.ReplaceAll(by, "_", " ")
	}
	return ""
}

// counts says what a selection has found.
func counts(r scene.Resolved) string {
	text := plural(r.ResidueCount, "residue") + ", " + plural(r.AtomCount, "atom")
	switch len(r.Chains) {
	case 0:
		return text
	case 1:
		return text + ", chain " + r.Chains[0]
	}
	return text + ", chains " + strings.Join(r.Chains, ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// questionInWords asks back.
func questionInWords(about string, choices []string) string {
	if about == "structure" {
		return "Which structure? Load one first, for example: load 1cbs."
	}
	text := "Which " + strings.ReplaceAll(about, "_", " ") + " is meant?"
	if len(choices) > 0 {
		text = strings.TrimSuffix(text, "?") + ": " + strings.Join(choices, ", ") + "?"
	}
	return text
}

// refusalInWords says why nothing was done, and what can be done instead.
func refusalInWords(e *scene.RefusedError) string {
	text := "Not possible here: "
	switch e.Reason {
	case "not_found":
		text = "Not found in this scene: "
	case "needs_data":
		text = "Not possible without "
	case "out_of_scope":
		text = "The studio draws molecules and does nothing else: "
	}
	text += strings.TrimSuffix(e.Feature, ".") + "."
	if e.Alternative != "" {
		text += " Instead: " + e.Alternative + "."
	}
	return text
}

// notUnderstood quotes what could not be read. Nothing was done.
func notUnderstood(clauses []string) string {
	quoted := make([]string, len(clauses))
	for i, clause := range clauses {
		quoted[i] = fmt.Sprintf("“%s”", clause)
	}
	return "Not understood: " + strings.Join(quoted, ", ") + ". Nothing was changed. Say it in other words, or ask for help."
}

// unchanged warns of operations that should have changed the picture and did not, so that nobody looks for what is not there.
func unchanged(before, after scene.Model, operations []scene.Operation) []string {
	before.Last, after.Last = "", "" // what "it" means is not seen
	one, errOne := json.Marshal(before)
	other, errOther := json.Marshal(after)
	if errOne != nil || errOther != nil || !bytes.Equal(one, other) {
		return nil
	}
	for _, operation := range operations {
		switch operation.Args.(type) {
		case scene.Show, scene.Hide, scene.Isolate, scene.Color, scene.Opacity, scene.Surface, scene.Highlight, scene.Label,
			scene.Pocket, scene.Interactions, scene.Clear, scene.Preset:
			return []string{"the picture is as it was before: all of this was so already"}
		}
	}
	return nil
}
