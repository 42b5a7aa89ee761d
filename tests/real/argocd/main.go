// One Argo CD instance for tests: the application-controller and the repo-server from the Argo CD module, and a Redis in this process,
// so that nothing else must be installed. There is no argocd-server, because Switchboard does not use one.
//
//	argocd --kubeconfig FILE --namespace NAMESPACE --directory DIRECTORY
//
// The directory holds the instance's files: clones, the socket for passwords, known hosts and certificates. Each instance needs its own.
// Ports are chosen here and passed only to the components. The program exits when its standard input is closed.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/alicebob/miniredis/v2"
	appcontroller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	gitaskpass "github.com/argoproj/argo-cd/v3/cmd/argocd-git-ask-pass/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/argoproj/argo-cd/v3/common"
	"github.com/spf13/cobra"
)

// Variable with the component of a process; Argo CD also passes it to git's password helper.
const binaryName = "ARGOCD_BINARY_NAME"

func main() {
	var part *cobra.Command
	switch os.Getenv(binaryName) {
	case common.CommandApplicationController:
		part = appcontroller.NewCommand()
	case common.CommandRepoServer:
		part = reposerver.NewCommand()
	case common.CommandGitAskPass:
		part = gitaskpass.NewCommand()
	default:
		run := instance
		if len(os.Args) > 1 && os.Args[1] == "git" {
			run = func() error { return gitServer(os.Args[2:]) }
		}
		if err := run(); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		return
	}
	if err := part.Execute(); err != nil {
		os.Exit(1)
	}
}

// Starts the components, and waits until one exits or standard input is closed.
func instance() error {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the cluster")
	namespace := flag.String("namespace", "argocd", "where its Applications and its configuration are")
	directory := flag.String("directory", "", "what the instance may write to")
	level := flag.String("loglevel", "warn", "debug, info, warn or error")
	flag.Parse()
	if *kubeconfig == "" || *directory == "" {
		return fmt.Errorf("--kubeconfig and --directory are needed")
	}
	redis, err := miniredis.Run()
	if err != nil {
		return fmt.Errorf("could not start Redis: %w", err)
	}
	defer redis.Close()
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	env, err := environment(*directory)
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	server, err := start(common.CommandRepoServer, env, ended,
		"--address", "127.0.0.1", "--port", ports[0], "--metrics-address", "127.0.0.1", "--metrics-port", ports[1],
		"--redis", redis.Addr(), "--disable-tls", "--client-ca-path", "", "--loglevel", *level, "--logformat", "text")
	if err != nil {
		return err
	}
	defer stop(server)
	controller, err := start(common.CommandApplicationController, env, ended,
		"--kubeconfig", *kubeconfig, "--namespace", *namespace, "--metrics-port", ports[2],
		"--repo-server", "127.0.0.1:"+ports[0], "--repo-server-plaintext", "--redis", redis.Addr(),
		// Settings that the GitOps Service requires of an instance.
		"--persist-resource-health",
		// Upper bound for a test's wait for a change in git; a comparison without changes is cheap.
		"--app-resync", "5", "--app-resync-jitter", "0", "--repo-error-grace-period-seconds", "0",
		"--loglevel", *level, "--logformat", "text")
	if err != nil {
		return err
	}
	defer stop(controller)
	go func() {
		// The parent process holds the other end open while it runs.
		_, _ = io.Copy(io.Discard, os.Stdin)
		ended <- nil
	}()
	return <-ended
}

// Environment of both components.
func environment(directory string) ([]string, error) {
	directory, err := filepath.Abs(directory)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"tls", "ssh", "tmp", "gpg", "plugins", "bin"} {
		if err := os.MkdirAll(filepath.Join(directory, name), 0o700); err != nil {
			return nil, err
		}
	}
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// git runs a program named `argocd` to get passwords.
	link := filepath.Join(directory, "bin", "argocd")
	_ = os.Remove(link)
	if err := os.Symlink(own, link); err != nil {
		return nil, err
	}
	// Argo CD's image has a script of this name that verifies signatures; the test's commits are unsigned.
	script := filepath.Join(directory, "bin", "git-verify-wrapper.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		return nil, err
	}
	in := func(name string) string { return filepath.Join(directory, name) }
	return append(os.Environ(),
		"PATH="+in("bin")+string(os.PathListSeparator)+os.Getenv("PATH"),
		"TMPDIR="+in("tmp"),
		"ARGOCD_FAKE_IN_CLUSTER=true",
		"ARGOCD_ASK_PASS_SOCK="+in("password.sock"),
		"ARGOCD_TLS_DATA_PATH="+in("tls"),
		"ARGOCD_SSH_DATA_PATH="+in("ssh"),
		"ARGOCD_GNUPGHOME="+in("gpg"),
		"ARGOCD_GPG_ENABLED=false",
		"ARGOCD_PLUGINSOCKFILEPATH="+in("plugins"),
		// Sharding for a single controller.
		"HOSTNAME=argocd-application-controller-0",
	), nil
}

func start(name string, env []string, ended chan<- error, arguments ...string) (*exec.Cmd, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	part := exec.Command(own, arguments...)
	part.Env = append(env, binaryName+"="+name)
	part.Stdout, part.Stderr = os.Stderr, os.Stderr
	// The components are killed with this process.
	part.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := part.Start(); err != nil {
		return nil, fmt.Errorf("could not start %s: %w", name, err)
	}
	go func() {
		err := part.Wait()
		ended <- fmt.Errorf("%s ended: %v", name, err)
	}()
	return part, nil
}

func stop(part *exec.Cmd) { _ = part.Process.Kill() }

// Returns currently free ports; both components require a port number.
func freePorts(count int) ([]string, error) {
	var ports []string
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("could not find a free port: %w", err)
		}
		defer listener.Close()
		ports = append(ports, strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	}
	return ports, nil
}
