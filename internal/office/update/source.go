package update

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
)

// Bounds of a download.
const (
	mostText    = 1 << 20   // bytes of SHA256SUMS and its signature
	mostArchive = 512 << 20 // bytes of an archive; ours have 20 MB
	answerTime  = 30 * time.Second
	wholeTime   = 20 * time.Minute
)

// A Source is the location of a release's files: a directory, or an address.
type Source struct {
	at     string
	client *http.Client // nil: at is a directory
}

// NewSource returns the source at a directory, or at an https address. http is accepted only for this machine.
func NewSource(at string) (*Source, error) {
	at = strings.TrimRight(at, "/")
	u, err := url.Parse(at)
	switch {
	case err == nil && u.Scheme == "file":
		return &Source{at: filepath.FromSlash(u.Path)}, nil
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return &Source{at: at}, nil
	}
	if err := private(u); err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = answerTime
	return &Source{at, &http.Client{Transport: transport, Timeout: wholeTime,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) >= 10 {
				return mail.Errorf(mail.Unavailable, "too many redirects from %s", at)
			}
			return private(r.URL)
		}}}, nil
}

// private refuses an address whose answers others could change.
func private(u *url.URL) error {
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
		return nil
	}
	return mail.Errorf(mail.Invalid, "%s is not secure: releases need https. Nothing was changed", u)
}

// read returns the content of a small file.
func (s *Source) read(ctx context.Context, name string) ([]byte, error) {
	file, err := s.open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostText+1))
	if err != nil {
		return nil, torn(s.at, name, err)
	}
	if len(text) > mostText {
		return nil, mail.Errorf(mail.TooLarge, "%s at %s is larger than a megabyte. Nothing was changed", name, s.at)
	}
	return text, nil
}

// open returns a file, which the caller must close.
func (s *Source) open(ctx context.Context, name string) (io.ReadCloser, error) {
	if s.client == nil {
		file, err := durable.Open(filepath.Join(s.at, name))
		if err != nil {
			return nil, mail.Errorf(mail.NotFound, "%w. Nothing was changed", err)
		}
		return file, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at+"/"+name, nil)
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, mail.Errorf(mail.Unavailable, "cannot download %s from %s: %w. Nothing was changed", name, s.at,
			err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, mail.Errorf(mail.NotFound, "no %s at %s, which answers %s. Nothing was changed", name, s.at,
			resp.Status)
	}
	return resp.Body, nil
}

func torn(at, name string, err error) error {
	return &mail.Error{Code: mail.Unavailable, Err: err,
		Msg: fmt.Sprintf("the download of %s from %s is incomplete: %v. Nothing was changed", name, at, err)}
}

// Address returns the address of a release's files, with version "" for the newest release, if the module has an
// address.
func Address(module, version string) (string, error) {
	host, _, sub := strings.Cut(module, "/")
	if !sub || !strings.Contains(host, ".") {
		return "", mail.Errorf(mail.Unavailable, "this build has no address for releases. Nothing was changed")
	}
	if version == "" {
		return "https://" + module + "/releases/latest/download", nil
	}
	return "https://" + module + "/releases/download/" + version, nil
}
