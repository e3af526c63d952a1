// Command kube is the control plane of Kubernetes in one program, for tests: etcd, the API server, the controllers and the
// scheduler share most of what they are made of, so that one build takes a third of four.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	parts := map[string]func() *cobra.Command{
		"apiserver":   apiserver.NewAPIServerCommand,
		"controllers": controllers.NewControllerManagerCommand,
		"scheduler":   func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	}
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: kube etcd|apiserver|controllers|scheduler FLAGS")
		os.Exit(2)
	}
	part := os.Args[1]
	os.Args = append(os.Args[:1], os.Args[2:]...)
	if part == "etcd" {
		etcdmain.Main(append([]string{"etcd"}, os.Args[1:]...))
		return
	}
	command, known := parts[part]
	if !known {
		fmt.Fprintf(os.Stderr, "kube: there is no %q\n", part)
		os.Exit(2)
	}
	os.Exit(cli.Run(command()))
}
