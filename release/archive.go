package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"
)

// name is that of the archive for t.
func (r *release) name(t target) string {
	return "boxer_" + r.Version + "_" + t.OS + "_" + t.Arch + ".tar.gz"
}

// archive builds the program for t, packs it, and returns the SHA-256 of the archive.
func (r *release) archive(ctx context.Context, t target) (string, error) {
	scratch, err := os.MkdirTemp("", "boxer-release-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	binary := filepath.Join(scratch, "boxer")
	if err := r.compile(ctx, t, binary); err != nil {
		return "", err
	}
	var files []file
	for _, f := range []struct {
		name, place string
		mode        int64
	}{
		{"boxer", binary, 0o755},
		{"LICENSE", filepath.Join(r.Root, "LICENSE"), 0o644},
		{"README.md", filepath.Join(r.Root, "README.md"), 0o644},
	} {
		text, err := os.ReadFile(f.place)
		if err != nil {
			return "", err
		}
		files = append(files, file{f.name, text, f.mode})
	}
	licences, err := r.licences(ctx, t)
	if err != nil {
		return "", err
	}
	return write(filepath.Join(r.Out, r.name(t)), append(files, licences...), r.Time)
}

// write packs files into a new archive, each with that time and owned by root.
func write(name string, files []file, when time.Time) (sum string, err error) {
	out, err := os.Create(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	hash := sha256.New()
	packed, err := gzip.NewWriterLevel(io.MultiWriter(out, hash), gzip.BestCompression)
	if err != nil {
		return "", err
	}
	archive := tar.NewWriter(packed)
	for _, f := range files {
		header := &tar.Header{
			Name: f.Name, Mode: f.Mode, Size: int64(len(f.Text)), ModTime: when, Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return "", err
		}
		if _, err := archive.Write(f.Text); err != nil {
			return "", err
		}
	}
	if err := errors.Join(archive.Close(), packed.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
