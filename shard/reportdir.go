package shard

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/boxer-ci/boxer/runner"
)

const (
	ignoreFile = ".gitignore" // also the mark by which boxer knows its own folder
	ignoreAll  = "*\n"
	mergedFile = "junit.xml"
	resultFile = "result.json"
)

// ours are the names that boxer writes into a report folder. Timings stay from run to run and are not among them.
var ours = regexp.MustCompile(`^(junit\.xml|index\.html|result\.json|flaky\.json|ledger\.json|shard-[0-9]+(\.log)?|\.shard-[0-9]+\.(status|tests)|\.boxer-[0-9]+\.tmp)$`)

// reportDir is the folder of a run's results, locked while the run lasts.
type reportDir struct {
	path string
	root *os.Root
	lock *os.File // the folder itself: a lock file would be one more thing to leave behind
}

// checkReportDir looks, and changes nothing.
func checkReportDir(o Options) []error {
	if !filepath.IsAbs(o.ReportDir) {
		return nil // told by checkPaths
	}
	const fix = "boxer shard --report boxer-report ..."
	if link := symlinkOnTheWay(o); link != "" {
		return []error{fault(badReportDir, "rm "+link, "the report folder must not be a symlink, and %s is one", o.display(link))}
	}
	info, err := os.Lstat(o.ReportDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkWritable(nearest(o.ReportDir))
	case err != nil:
		return []error{fault(badReportDir, fix, "the report folder cannot be used: %v", err)}
	case !info.IsDir():
		return []error{fault(badReportDir, fix, "%s is no folder, so it cannot hold the reports", o.display(o.ReportDir))}
	case !isOurs(o.ReportDir):
		return []error{fault(badReportDir, fix, "%s holds other files, and boxer would remove some of them: a report folder is boxer's alone", o.display(o.ReportDir))}
	}
	return checkWritable(o.ReportDir)
}

// symlinkOnTheWay finds a symlink among the report folder and its parents in the worktree, which is what somebody
// else's change can hold. Where the user keeps the worktree is the user's own business.
func symlinkOnTheWay(o Options) string {
	rel, err := filepath.Rel(o.Base, o.ReportDir)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return ""
	}
	dir := o.Base
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		dir = filepath.Join(dir, part)
		if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return dir
		}
	}
	return ""
}

// isOurs says whether the folder is empty, marked as boxer's, or holds nothing but the folders of other nodes.
func isOurs(dir string) bool {
	if mark, err := os.ReadFile(filepath.Join(dir, ignoreFile)); err == nil {
		return string(mark) == ignoreAll
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return errors.Is(err, fs.ErrPermission) // told by checkWritable
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), nodePrefix) {
			return false
		}
	}
	return true
}

// nearest is the deepest folder on the way that is there.
func nearest(dir string) string {
	for dir != filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// checkWritable asks the kernel, which also knows of read-only mounts.
func checkWritable(dir string) []error {
	const writeAndEnter = 2 | 1
	if err := syscall.Access(dir, writeAndEnter); err != nil {
		return []error{fault(badReportDir, "boxer shard --report /tmp/boxer-report ...", "the report folder cannot be made or written in %s: %v", dir, err)}
	}
	return nil
}

// openReportDir makes the folder, takes it for this run and removes what an earlier run left in it: an old report must
// never pass for a new one.
func openReportDir(o Options) (*reportDir, error) {
	if err := os.MkdirAll(o.ReportDir, 0o755); err != nil {
		return nil, notWritten("the report folder cannot be made", o.ReportDir, err)
	}
	d := &reportDir{path: o.ReportDir}
	var err error
	if d.lock, err = lockFolder(o); err != nil {
		return nil, err
	}
	if d.root, err = os.OpenRoot(o.ReportDir); err == nil {
		err = d.clean()
	}
	if err == nil {
		err = d.write(ignoreFile, []byte(ignoreAll))
	}
	if err != nil {
		d.close()
		return nil, notWritten("the report folder cannot be prepared", o.ReportDir, err)
	}
	return d, nil
}

func lockFolder(o Options) (*os.File, error) {
	f, err := os.Open(o.ReportDir)
	if err != nil {
		return nil, notWritten("the report folder cannot be opened", o.ReportDir, err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, (&runner.Error{
			Reason: fmt.Sprintf("another run is writing to %s", o.display(o.ReportDir)), Cause: runner.IsBusy,
			Fix: "boxer shard --report boxer-report-2 ...",
		}).At(o.Scope)
	}
	return nil, notWritten("the report folder cannot be locked", o.ReportDir, err)
}

// notWritten is the error of results that could not be put on disk.
func notWritten(reason, dir string, err error) error {
	return (&runner.Error{Reason: reason, Cause: "REPORT_NOT_WRITTEN", Fix: "df -h " + filepath.Dir(dir)}).Because(err)
}

func (d *reportDir) clean() error {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if ours.MatchString(e.Name()) {
			errs = append(errs, d.root.RemoveAll(e.Name()))
		}
	}
	return errors.Join(errs...)
}

// write puts a file in its place by rename, so that nobody ever sees half of it.
func (d *reportDir) write(name string, data []byte) error {
	temp := fmt.Sprintf(".boxer-%d.tmp", rand.Uint64())
	f, err := d.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = d.root.Rename(temp, name)
	}
	if err != nil {
		d.root.Remove(temp)
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// inPlace says whether the folder still stands at its path. In a worktree that is live, what runs in a child could put
// a symlink there, and whoever goes by the path would then write somewhere else.
func (d *reportDir) inPlace() error {
	there, err := os.Lstat(d.path)
	if err != nil {
		return err
	}
	if mine, err := d.root.Stat("."); err != nil || !os.SameFile(there, mine) {
		return fmt.Errorf("%s was replaced during the run", d.path)
	}
	return nil
}

// folder makes and opens a folder in it.
func (d *reportDir) folder(name string) (*os.Root, error) {
	if err := d.root.MkdirAll(name, 0o755); err != nil {
		return nil, err
	}
	return d.root.OpenRoot(name)
}

// log opens the file for a shard's output. A later attempt goes on where the one before ended.
func (d *reportDir) log(number int) (*os.File, error) {
	return d.root.OpenFile(logOf(number), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
}

func folderOf(number int) string { return fmt.Sprintf("shard-%d", number) }

func logOf(number int) string { return folderOf(number) + ".log" }

// close gives the folder back. Closing alone would not: a process that is just being started has a copy of the lock until
// it runs its program.
func (d *reportDir) close() {
	if d.root != nil {
		d.root.Close()
	}
	syscall.Flock(int(d.lock.Fd()), syscall.LOCK_UN)
	d.lock.Close()
}
