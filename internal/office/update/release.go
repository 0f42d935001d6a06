package update

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/minisign"
	"pennypost/internal/base/versions"
	"pennypost/internal/mail"
)

// Release is a release with a valid signature.
type Release struct {
	Version string // such as v1.2.3
	archive string // the name of the archive for this system
	sum     string // its SHA-256, in hexadecimal digits
	from    *Source
}

// Look returns the release at a source, for a system such as linux_amd64, if key has signed it.
func Look(ctx context.Context, from *Source, key minisign.Key, system string) (*Release, error) {
	sums, err := from.read(ctx, "SHA256SUMS")
	if err != nil {
		return nil, err
	}
	signature, err := from.read(ctx, "SHA256SUMS.minisig")
	if err != nil {
		return nil, err
	}
	comment, err := key.Verify(sums, signature)
	if errors.Is(err, minisign.ErrWrong) {
		return nil, mail.Errorf(mail.Denied, "the release at %s is not signed with Pennypost's release key, so it "+
			"was made or changed by others: %w. Nothing was changed", from.at, err)
	} else if err != nil {
		return nil, mail.Errorf(mail.Denied, "the signature of the release at %s cannot be read: %w. Nothing was "+
			"changed", from.at, err)
	}
	r := &Release{from: from, Version: strings.TrimPrefix(comment, "pennypost ")}
	if _, err := ParseVersion(r.Version); err != nil {
		return nil, err
	}
	r.archive = "pennypost_" + strings.TrimPrefix(r.Version, "v") + "_" + system + ".tar.gz"
	for line := range strings.Lines(string(sums)) {
		if sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); ok && name == r.archive {
			r.sum = sum
			return r, nil
		}
	}
	return nil, mail.Errorf(mail.NotFound, "the release %s at %s has no archive for %s. Nothing was changed",
		r.Version,
		from.at, system)
}

// Fetch downloads the archive into a directory, compares its checksum, and unpacks the programs there. It returns
// their directory. progress gets every byte received.
func (r *Release) Fetch(ctx context.Context, dir string, progress io.Writer) (unpacked string, err error) {
	in, err := r.from.open(ctx, r.archive)
	if err != nil {
		return "", err
	}
	defer in.Close()
	archive := filepath.Join(dir, r.archive)
	sum := sha256.New()
	if err := durable.Replace(archive, 0o600, func(to io.Writer) error {
		n, err := io.Copy(io.MultiWriter(to, sum, progress), io.LimitReader(in, mostArchive+1))
		if err == nil && n > mostArchive {
			err = errors.New("it is too large")
		}
		return err
	}); err != nil {
		return "", torn(r.from.at, r.archive, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != r.sum {
		return "", mail.Errorf(mail.Denied, "%s from %s has the wrong checksum: its SHA-256 is %s, the signed one "+
			"is %s. Nothing was changed", r.archive, r.from.at, got, r.sum)
	}
	unpacked = filepath.Join(dir, r.Version)
	if err := unpack(archive, unpacked); err != nil {
		return "", mail.Errorf(mail.Internal, "%s cannot be unpacked: %w. Nothing was changed", r.archive, err)
	}
	return unpacked, nil
}

// unpack extracts the programs and their texts from an archive.
func unpack(archive, to string) error {
	file, err := durable.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(to, 0o755); err != nil {
		return err
	}
	missing := slices.Clone(versions.Programs[:])
	for in := tar.NewReader(unzipped); ; {
		h, err := in.Next()
		if err == io.EOF && len(missing) > 0 {
			return errors.New(missing[0] + " is not in it")
		} else if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		_, name, _ := strings.Cut(h.Name, "/")
		program := slices.Contains(versions.Programs[:], name)
		text := slices.Contains([]string{"LICENSE", "NOTICES", "README.md"}, name)
		if h.Typeflag != tar.TypeReg || !program && !text {
			continue
		}
		if err := write(filepath.Join(to, name), program, in); err != nil {
			return err
		}
		missing = slices.DeleteFunc(missing, func(p string) bool { return p == name })
	}
}

func write(path string, program bool, from io.Reader) error {
	mode := fs.FileMode(0o644)
	if program {
		mode = 0o755
	}
	return durable.Replace(path, mode, func(to io.Writer) error {
		_, err := io.Copy(to, io.LimitReader(from, mostArchive))
		return err
	})
}
