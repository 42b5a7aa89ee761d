package main

import (
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// A git server over HTTPS and SSH for tests:
//
//	argocd git --directory DIRECTORY
//
// The command serves the bare repositories of the directory, read-only. Repositories whose name begins with `private` require the
// credentials `NAME:PASSWORD` of the file `password` in the directory, or a key of its file `authorized_keys`. Both files are read
// for each request. SSH always requires a key. The server prints one line of JSON when it listens, and exits when its standard
// input is closed.
func gitServer(arguments []string) error {
	flags := flag.NewFlagSet("git", flag.ContinueOnError)
	directory := flags.String("directory", "", "where the repositories are")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	certificate, authority, err := certificate()
	if err != nil {
		return err
	}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	shell, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: repositories{*directory}, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	go func() { _ = server.ServeTLS(web, "", "") }()
	hostKey, err := serveSSH(shell, *directory)
	if err != nil {
		return err
	}
	listening := map[string]string{
		"https":      "https://" + web.Addr().String(),
		"ssh":        "ssh://git@" + shell.Addr().String(),
		"authority":  authority,
		"knownHosts": fmt.Sprintf("[127.0.0.1]:%d %s", shell.Addr().(*net.TCPAddr).Port, hostKey),
	}
	if err := json.NewEncoder(os.Stdout).Encode(listening); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

// Handler for the repositories of a directory.
type repositories struct{ directory string }

// Serves the smart protocol, which consists of two `git upload-pack` requests.
func (r repositories) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	name, what, found := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
	place, err := r.find(name)
	if !found || err != nil {
		http.NotFound(answer, request)
		return
	}
	if strings.HasPrefix(name, "private") && !r.knows(request) {
		answer.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(answer, "who are you?", http.StatusUnauthorized)
		return
	}
	if what != "info/refs" && what != "git-upload-pack" {
		http.NotFound(answer, request)
		return
	}
	answer.Header().Set("Cache-Control", "no-cache")
	pack := exec.CommandContext(request.Context(), "git", "upload-pack", "--stateless-rpc", place)
	pack.Env = append(os.Environ(), "GIT_PROTOCOL="+request.Header.Get("Git-Protocol"), "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	if what == "info/refs" {
		answer.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = io.WriteString(answer, "001e# service=git-upload-pack\n0000")
		pack.Args = append(pack.Args[:len(pack.Args)-1], "--advertise-refs", place)
	} else {
		answer.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		pack.Stdin = request.Body
		if request.Header.Get("Content-Encoding") == "gzip" {
			if pack.Stdin, err = gzip.NewReader(request.Body); err != nil {
				return
			}
		}
	}
	pack.Stdout = answer
	_ = pack.Run()
}

func (r repositories) find(name string) (string, error) {
	name = strings.TrimSuffix(path.Base("/"+name), ".git")
	place := filepath.Join(r.directory, name+".git")
	_, err := os.Stat(place)
	return place, err
}

func (r repositories) knows(request *http.Request) bool {
	user, password, given := request.BasicAuth()
	line, err := os.ReadFile(filepath.Join(r.directory, "password"))
	return given && err == nil && strings.TrimSpace(string(line)) == user+":"+password
}

// Serves `git-upload-pack` to clients with an authorized key, and returns the server's key.
func serveSSH(listener net.Listener, directory string) (string, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return "", err
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		text, err := os.ReadFile(filepath.Join(directory, "authorized_keys"))
		for err == nil && len(text) > 0 {
			var known ssh.PublicKey
			if known, _, _, text, err = ssh.ParseAuthorizedKey(text); err == nil && string(known.Marshal()) == string(key.Marshal()) {
				return nil, nil
			}
		}
		return nil, fmt.Errorf("an unknown key")
	}}
	config.AddHostKey(signer)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go session(connection, config, repositories{directory})
		}
	}()
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey()))), nil
}

func session(connection net.Conn, config *ssh.ServerConfig, repositories repositories) {
	server, channels, requests, err := ssh.NewServerConn(connection, config)
	if err != nil {
		return
	}
	defer server.Close()
	go ssh.DiscardRequests(requests)
	for channel := range channels {
		if channel.ChannelType() != "session" {
			_ = channel.Reject(ssh.UnknownChannelType, "only sessions")
			continue
		}
		stream, requests, err := channel.Accept()
		if err != nil {
			return
		}
		go serveChannel(stream, requests, repositories)
	}
}

func serveChannel(stream ssh.Channel, requests <-chan *ssh.Request, repositories repositories) {
	defer stream.Close()
	var environment []string
	for request := range requests {
		switch request.Type {
		case "env":
			var variable struct{ Name, Value string }
			if ssh.Unmarshal(request.Payload, &variable) == nil && variable.Name == "GIT_PROTOCOL" {
				environment = append(environment, "GIT_PROTOCOL="+variable.Value)
			}
			_ = request.Reply(true, nil)
		case "exec":
			var command struct{ Line string }
			_ = ssh.Unmarshal(request.Payload, &command)
			name, is := strings.CutPrefix(command.Line, "git-upload-pack ")
			place, err := repositories.find(strings.Trim(name, "'\""))
			_ = request.Reply(is && err == nil, nil)
			code := struct{ Code uint32 }{128}
			if is && err == nil {
				pack := exec.Command("git", "upload-pack", place)
				pack.Env = append(os.Environ(), append(environment, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory",
					"GIT_CONFIG_VALUE_0=*")...)
				pack.Stdin, pack.Stdout, pack.Stderr = stream, stream, stream.Stderr()
				if pack.Run() == nil {
					code.Code = 0
				}
			}
			_, _ = stream.SendRequest("exit-status", false, ssh.Marshal(code))
			return
		default:
			_ = request.Reply(false, nil)
		}
	}
}

// Creates a certificate for the loopback address, and returns it with its CA.
func certificate() (tls.Certificate, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "git"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, text, nil
}
