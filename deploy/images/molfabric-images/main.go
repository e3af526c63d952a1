// Command molfabric-images builds, signs, checks and hands on the container images of molfabric.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/deploy/images"
)

// version is set by the linker (see the Makefile).
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "molfabric-images:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	dir := filepath.Join(".molfabric", "oci")
	if home := os.Getenv("MOLFABRIC_HOME"); home != "" {
		dir = filepath.Join(home, "oci")
	}
	cmd := &cobra.Command{
		Use: "molfabric-images", Short: "Build, sign, check and hand on the container images of molfabric",
		Long: `The images lie in one folder, as the Open Container Initiative lays them out. images.json beside them says which
there are, by digest.

  molfabric-images build docking --syft syft --key images.key    what make images runs
  molfabric-images push --to registry.example.org/molfabric      with signatures and bills of materials
  molfabric-images list --for chart --at registry.example.org/molfabric`,
		Version: version, SilenceUsage: true, SilenceErrors: true,
	}
	cmd.PersistentFlags().StringVar(&dir, "dir", dir, "folder of the images")
	cmd.AddCommand(buildCommand(&dir), keyCommand(), verifyCommand(&dir), pushCommand(&dir), unpackCommand(&dir), listCommand(&dir))
	return cmd
}

func names() string {
	var all []string
	for _, recipe := range images.Recipes {
		all = append(all, recipe.Name)
	}
	return strings.Join(all, ", ")
}

// chosen are the recipes of some names, all of them where there is none.
func chosen(wanted []string) ([]images.Recipe, error) {
	if len(wanted) == 0 {
		return images.Recipes, nil
	}
	var found []images.Recipe
	for _, name := range wanted {
		i := slices.IndexFunc(images.Recipes, func(r images.Recipe) bool { return r.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("image %q: there are %s", name, names())
		}
		found = append(found, images.Recipes[i])
	}
	return found, nil
}

func buildCommand(dir *string) *cobra.Command {
	builder := images.Builder{Version: version, Log: os.Stderr}
	var key, syft, at string
	var fresh bool
	cmd := &cobra.Command{
		Use: "build [IMAGE...]", Short: "Build images, all or some: " + names(),
		Long: `Builds images, lists what is in them, and signs both. Parts that were built before by the same recipe are taken as
they are; --fresh builds them anew, from what Debian's archive has now.`,
		RunE: func(cmd *cobra.Command, wanted []string) error {
			recipes, err := chosen(wanted)
			if err != nil {
				return err
			}
			if builder.Repository, err = filepath.Abs(builder.Repository); err != nil {
				return err
			}
			if syft != "" {
				if syft, err = filepath.Abs(syft); err != nil { // it runs in another folder
					return err
				}
			}
			if _, err := os.Stat(builder.Components); err != nil {
				builder.Components = "" // set-up has not made it; the control plane does without
			}
			layout, err := images.OpenLayout(*dir)
			if err != nil {
				return err
			}
			if fresh {
				if err := layout.Forget(); err != nil {
					return err
				}
			}
			for _, recipe := range recipes {
				if err := buildOne(cmd.Context(), builder, layout, recipe, syft, key, at); err != nil {
					return fmt.Errorf("%s: %w", recipe.Name, err)
				}
			}
			return finish(*dir, layout)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&builder.Repository, "repository", ".", "the checkout, for deploy/setup.sh and the lock files")
	flags.StringVar(&builder.Programs, "programs", "bin", "folder with molfabric and molfabric-store")
	flags.StringVar(&builder.Components, "components", "", "dictionary of chemical components for the control plane")
	flags.StringVar(&builder.Mirror, "mirror", "", "address of Debian's archive, such as that of a snapshot (default Debian's own)")
	flags.BoolVar(&fresh, "fresh", false, "build anew what was built before")
	flags.StringVar(&syft, "syft", "", "the program that lists what an image holds (default: no list)")
	flags.StringVar(&key, "key", "", "key to sign with (default: no signature)")
	flags.StringVar(&at, "at", "molfabric", "repository that the signatures name")
	return cmd
}

// buildOne builds an image, then lists what is in it, and signs it and the list.
func buildOne(
	ctx context.Context, builder images.Builder, layout *images.Layout, recipe images.Recipe, syft, key, at string,
) error {
	built, err := builder.Build(ctx, layout, recipe)
	if err != nil {
		return err
	}
	hash, err := built.Digest()
	if err != nil {
		return err
	}
	signed := []string{hash.String()}
	if syft != "" {
		list, err := images.Bill(ctx, layout, recipe.Name, hash.String(), syft, os.Stderr)
		if err != nil {
			return err
		}
		signed = append(signed, list)
	}
	if key != "" {
		private, err := images.ReadKey(key)
		if err != nil {
			return err
		}
		for _, digest := range signed {
			if err := images.Sign(layout, recipe.Name, digest, at+"/"+recipe.Name, private); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%s@%s\n", recipe.Name, hash)
	return nil
}

// finish removes what no image has any more and writes images.json.
func finish(dir string, layout *images.Layout) error {
	if err := layout.Sweep(); err != nil {
		return err
	}
	digests, err := images.Digests(layout)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(map[string]any{"version": version, "images": digests}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "images.json"), append(text, '\n'), 0o644)
}

func keyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "key FILE", Short: "Make a key to sign with: FILE and FILE.pub", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return images.NewKey(args[0]) },
	}
}

// source is where images are read from: a registry where one is named, else the folder.
func source(ctx context.Context, dir, registry string, insecure bool) (images.Place, error) {
	if registry != "" {
		return images.Registry{Context: ctx, Repository: registry, Insecure: insecure}, nil
	}
	return images.OpenLayout(dir)
}

func verifyCommand(dir *string) *cobra.Command {
	var key, from string
	var insecure bool
	cmd := &cobra.Command{
		Use: "verify [IMAGE[@DIGEST]...]", Short: "Check images and their bills of materials against their digests and a key",
		Long: `Reads all of each image and compares it with its digest, then looks for a signature of the key, and for a signed list
of contents. Without names all images of the folder are checked; images of a registry are named by digest.`,
		RunE: func(cmd *cobra.Command, wanted []string) error {
			public, err := images.ReadPublicKey(key)
			if err != nil {
				return err
			}
			place, err := source(cmd.Context(), *dir, from, insecure)
			if err != nil {
				return err
			}
			all, err := named(*dir, wanted)
			if err != nil {
				return err
			}
			for _, one := range all {
				if _, err := images.Checked(place, one.name, one.digest); err != nil {
					return err
				}
				if err := images.Verify(place, one.name, one.digest, public); err != nil {
					return err
				}
				if err := images.CheckBill(place, one.name, one.digest, public); err != nil {
					return fmt.Errorf("list of contents: %w", err)
				}
				fmt.Printf("%s@%s: signed, with a signed list of contents\n", one.name, one.digest)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&key, "key", "", "public key")
	cmd.Flags().StringVar(&from, "from", "", "registry's repository to read from (default: the folder)")
	cmd.Flags().BoolVar(&insecure, "insecure", false, "speak HTTP with the registry")
	return cmd
}

// target is an image by its digest.
type target struct{ name, digest string }

// named reads "name@digest" and completes names alone by the folder's images.
func named(dir string, wanted []string) (all []target, err error) {
	layout, err := images.OpenLayout(dir)
	if err != nil {
		return nil, err
	}
	digests, err := images.Digests(layout)
	if err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		for _, recipe := range images.Recipes {
			if digest, ok := digests[recipe.Name]; ok {
				all = append(all, target{recipe.Name, digest})
			}
		}
		if len(all) == 0 {
			return nil, errors.New("the folder holds no image; make images builds them")
		}
	}
	for _, text := range wanted {
		name, digest, given := strings.Cut(text, "@")
		if !given {
			digest = digests[name]
		}
		if digest == "" {
			return nil, fmt.Errorf("image %q: is not in %s; there can be %s", name, dir, names())
		}
		all = append(all, target{name, digest})
	}
	return all, nil
}

func pushCommand(dir *string) *cobra.Command {
	var to, tag string
	var insecure bool
	cmd := &cobra.Command{
		Use: "push [IMAGE...]", Short: "Copy signed images into a registry, with their signatures and lists of contents",
		RunE: func(cmd *cobra.Command, wanted []string) error {
			if to == "" {
				return errors.New("to: name the registry's repository, such as registry.example.org/molfabric")
			}
			layout, err := images.OpenLayout(*dir)
			if err != nil {
				return err
			}
			all, err := named(*dir, wanted)
			if err != nil {
				return err
			}
			registry := images.Registry{Context: cmd.Context(), Repository: to, Insecure: insecure}
			for _, one := range all {
				if err := images.Push(layout, registry, one.name, one.digest, tag); err != nil {
					return err
				}
				fmt.Printf("%s/%s@%s\n", to, one.name, one.digest)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the registry's repository, below which each image has one")
	cmd.Flags().StringVar(&tag, "tag", version, "a tag for people; deployments name the digest")
	cmd.Flags().BoolVar(&insecure, "insecure", false, "speak HTTP with the registry")
	return cmd
}

func unpackCommand(dir *string) *cobra.Command {
	var from, key, into string
	var insecure bool
	cmd := &cobra.Command{
		Use: "unpack IMAGE[@DIGEST]", Short: "Lay an image out for a worker with the sandbox container", Args: cobra.ExactArgs(1),
		Long: `Checks an image and lays it out below a folder. With --into $MOLFABRIC_HOME/images a worker of
MOLFABRIC_SANDBOX=container finds it there and needs neither podman nor docker.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			public, err := images.ReadPublicKey(key)
			if err != nil {
				return err
			}
			place, err := source(cmd.Context(), *dir, from, insecure)
			if err != nil {
				return err
			}
			all, err := named(*dir, args)
			if err != nil {
				return err
			}
			if err := images.Verify(place, all[0].name, all[0].digest, public); err != nil {
				return err
			}
			root, err := images.Unpack(place, all[0].name, all[0].digest, into)
			if err != nil {
				return err
			}
			fmt.Printf("%s\nMOLFABRIC_IMAGE=%s@%s\n", root, all[0].name, all[0].digest)
			return nil
		},
	}
	cmd.Flags().StringVar(&into, "into", "images", "folder to lay it out in")
	cmd.Flags().StringVar(&key, "key", "", "public key that must have signed it")
	cmd.Flags().StringVar(&from, "from", "", "registry's repository to read from (default: the folder)")
	cmd.Flags().BoolVar(&insecure, "insecure", false, "speak HTTP with the registry")
	return cmd
}

func listCommand(dir *string) *cobra.Command {
	var form, at string
	cmd := &cobra.Command{
		Use: "list", Short: "Print the images by digest, for the chart's values or for deploy/.env", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			layout, err := images.OpenLayout(*dir)
			if err != nil {
				return err
			}
			digests, err := images.Digests(layout)
			if err != nil {
				return err
			}
			switch form {
			case "chart":
				images.ChartValues(os.Stdout, at, digests)
			case "compose":
				images.ComposeVariables(os.Stdout, at, digests)
			default:
				return fmt.Errorf("for: %q; allowed are chart and compose", form)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&form, "for", "chart", "chart or compose")
	cmd.Flags().StringVar(&at, "at", "molfabric", "the registry's repository")
	return cmd
}
