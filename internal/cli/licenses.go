package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/contract"
)

func licensesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "licenses", Short: "List, add, test and remove licence servers of your own", Args: cobra.ArbitraryArgs, RunE: groupRun,
		Long: `Manages licence servers of the account's own: software that a job names then runs on them, without a licence fee and on no more
tasks at once than there are seats. It needs the session of ` + "`molfabric login`.",
	}
	cmd.AddCommand(
		licenseCommand(cobra.Command{Use: "list", Short: "List the account's licence servers"}, cobra.NoArgs, listLicenses),
		licensesAddCommand(),
		licenseCommand(cobra.Command{
			Use: "test ID", Short: "Have the service connect to a licence server",
			Long: "Has the service connect to the server's port. Ends with code 1 when it finds something wrong.",
		}, one("ID"), testLicense),
		licenseCommand(cobra.Command{Use: "remove ID", Short: "Remove a licence server; jobs that rely on it wait"}, one("ID"),
			removeLicense),
	)
	return cmd
}

// licenseCommand makes a command of the group.
func licenseCommand(
	spec cobra.Command, args cobra.PositionalArgs, run func(ctx context.Context, inv *invocation, args []string) error,
) *cobra.Command {
	return sessionCommand(spec, args, "`molfabric licenses list` lists yours", run)
}

func listLicenses(ctx context.Context, inv *invocation, _ []string) error {
	servers, err := inv.api.LicenseServers(ctx)
	return present(inv, servers, err, func(w io.Writer, list contract.LicenseServerList) error {
		return licensesTable(w, list.LicenseServers)
	})
}

func licensesAddCommand() *cobra.Command {
	var server contract.LicenseServerRequest
	var address, enforcement string
	var secretStdin bool
	cmd := licenseCommand(cobra.Command{
		Use: "add NAME", Short: "Add a licence server",
		Example: `  molfabric licenses add "Render licences" --vendor SideFX --product "Houdini Engine" --protocol sesi --address licences.example.org:1715 --seats 4`,
	}, one("NAME"), func(ctx context.Context, inv *invocation, args []string) error {
		server.Name, server.Enforcement = args[0], given(enforcement != "", strings.ToUpper(enforcement))
		host, port, err := net.SplitHostPort(address)
		if err == nil {
			server.Host = host
			server.Port, err = strconv.Atoi(port)
		}
		if err != nil {
			return usage("--address %q: write host:port", address)
		}
		if secretStdin {
			secret, err := inv.readSecret()
			if err != nil {
				return err
			}
			server.Secret = &secret
		}
		added, err := inv.api.AddLicenseServer(ctx, server)
		return present(inv, added, err, func(w io.Writer, s contract.LicenseServer) error {
			_, err := fmt.Fprintf(w, "Licence server %s is added.\n  molfabric licenses test %s   has the service connect to it\n",
				s.ID, s.ID)
			return err
		})
	})
	flags := cmd.Flags()
	flags.StringVar(&server.Vendor, "vendor", "", "who makes the software")
	flags.StringVar(&server.Product, "product", "", "the licensed software")
	flags.StringVar(&server.Protocol, "protocol", "custom", "what the server speaks: flexlm, rlm, sesi or custom")
	flags.StringVar(&address, "address", "", "host:port of the server")
	flags.IntVar(&server.Seats, "seats", 1, "licences that it can give out at once")
	flags.StringVar(&enforcement, "enforcement", "enforced", "what the seats mean: enforced, advisory or disabled")
	flags.BoolVar(&secretStdin, "secret-stdin", false, "read the server's credential from the first line of standard input")
	return cmd
}

// readSecret reads the first line of standard input.
func (inv *invocation) readSecret() (string, error) {
	line, err := bufio.NewReader(io.LimitReader(inv.in, maxSecretBytes)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the secret: %w", err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", usage("standard input holds no secret")
	}
	return line, nil
}

func testLicense(ctx context.Context, inv *invocation, args []string) error {
	tested, err := inv.api.TestLicenseServer(ctx, args[0])
	if err != nil {
		return err
	}
	server := tested.Body
	if inv.json {
		err = inv.print(tested.JSON())
	} else {
		err = licensesTable(inv.out, []contract.LicenseServer{server})
	}
	if err == nil && server.Status != contract.LicenseReady {
		err = fmt.Errorf("licence server %s: %s", server.ID, orText(server.LastError, server.Status))
	}
	return err
}

func removeLicense(ctx context.Context, inv *invocation, args []string) error {
	if err := inv.api.RemoveLicenseServer(ctx, args[0]); err != nil {
		return err
	}
	if !inv.json {
		fmt.Fprintf(inv.out, "Licence server %s is removed.\n", args[0])
	}
	return nil
}

func licensesTable(w io.Writer, servers []contract.LicenseServer) error {
	if len(servers) == 0 {
		_, err := fmt.Fprintln(w, "No licence servers.")
		return err
	}
	p := painter(w)
	t := newTable(p, []int{5}, "id", "name", "software", "address", "seats used", "enforcement", "status", "found")
	for _, s := range servers {
		enforcement := strings.ToLower(s.Enforcement)
		if !s.Enabled {
			enforcement = "switched off"
		}
		t.AppendRow(table.Row{
			s.ID, shorten(s.Name, 30), shorten(s.Vendor+" "+s.Product, 40),
			s.Protocol + " " + net.JoinHostPort(s.Host, strconv.Itoa(s.Port)), fmt.Sprintf("%d of %d", s.SeatsInUse, s.Seats),
			enforcement, s.Status, orText(s.LastError, clockOr(s.LastCheckedAt, "")),
		})
	}
	return render(w, t)
}
