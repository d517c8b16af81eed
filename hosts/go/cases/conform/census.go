// SPDX-License-Identifier: MIT OR Apache-2.0

package conform

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// The census of a Go process. Go's own threads, its heap and its runtime's
// timers come and go as the scheduler likes, so they are not compared. What is:
//
//	fd             every descriptor
//	native_threads threads of the process that the Go runtime did not make
//	goroutines     their number
//	signal         disposition of every signal
//	cwd, umask     of the process
//	live_bytes     by gusset_alloc_stats, where there is a subject
type census struct {
	goroutines int
	threads    int
	lines      []string
}

// look reads what has to settle.
func look() census {
	return census{goroutines: runtime.NumGoroutine(), threads: nativeThreads()}
}

const goThreads = "/sched/threads/total:threads"

// nativeThreads is their number once it stands still: the kernel shows a
// thread for a moment after it was joined, and the Go runtime counts its own
// a moment before or after they are there.
func nativeThreads() int {
	const still, atMost = 10, 500
	last, same := countThreads(), 0
	for tries := 0; last != uncounted && same < still && tries < atMost; tries++ {
		time.Sleep(time.Millisecond)
		now := countThreads()
		if same++; now != last {
			last, same = now, 0
		}
	}
	return last
}

// uncounted is the number where the threads cannot be counted.
const uncounted = math.MinInt

func countThreads() int {
	sample := []metrics.Sample{{Name: goThreads}}
	metrics.Read(sample)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil || sample[0].Value.Kind() != metrics.KindUint64 {
		return uncounted
	}
	return len(tasks) - int(sample[0].Value.Uint64())
}

// takeCensus writes all facts; live is nil without a subject.
func takeCensus(live func() uint64) census {
	// The second one ends what the cleanups of the first one let go.
	runtime.GC()
	debug.FreeOSMemory()
	c := look()
	c.fact("goroutines", "count", "%d", c.goroutines)
	if c.threads == uncounted {
		c.fact("note", "census", "the threads cannot be counted by %s", goThreads)
	}
	c.fact("native_threads", "count", "%d", c.threads)
	c.fact("note", "threads", "the Go runtime has its own, which are not compared")
	c.fact("note", "mapped_bytes", "the Go heap moves, not compared")
	c.descriptors()
	c.signals()
	c.process()
	if live != nil {
		c.fact("live_bytes", "stats", "%d", live())
	}
	slices.Sort(c.lines)
	return c
}

func (c *census) fact(kind, key, format string, args ...any) {
	c.lines = append(c.lines, kind+" "+key+"\t"+oneLine(fmt.Sprintf(format, args...))+"\n")
}

func (c *census) text() string { return strings.Join(c.lines, "") }

// descriptors lists those that are open but for the one that lists them.
func (c *census) descriptors() {
	folder, err := os.Open("/proc/self/fd")
	if err != nil {
		c.fact("note", "census", "%v", err)
		return
	}
	names, err := folder.Readdirnames(-1)
	folder.Close()
	if err != nil {
		c.fact("note", "census", "%v", err)
		return
	}
	for _, name := range names {
		fd, _ := strconv.Atoi(name)
		var stat syscall.Stat_t
		if syscall.Fstat(fd, &stat) != nil {
			continue // the one that read the folder
		}
		flags, _ := fcntl(fd, syscall.F_GETFL)
		closing, _ := fcntl(fd, syscall.F_GETFD)
		target, _ := os.Readlink("/proc/self/fd/" + name)
		c.fact("fd", name, "mode %o flags %o cloexec %d dev %d ino %d %s",
			stat.Mode&syscall.S_IFMT, flags, closing&1, stat.Dev, stat.Ino, target)
	}
}

func fcntl(fd, command int) (int, error) {
	value, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), uintptr(command), 0)
	if errno != 0 {
		return 0, errno
	}
	return int(value), nil
}

const lastSignal = 64

// signals asks the kernel, not Go: the library may not have told it.
func (c *census) signals() {
	for number := 1; number <= lastSignal; number++ {
		var action struct {
			handler, flags, restorer uintptr
			mask                     [1024 / 64]uint64
		}
		_, _, errno := syscall.Syscall6(syscall.SYS_RT_SIGACTION, uintptr(number), 0,
			uintptr(unsafe.Pointer(&action)), 8, 0, 0)
		if errno == 0 {
			c.fact("signal", strconv.Itoa(number), "handler %#x flags %#x mask %#x",
				action.handler, action.flags, action.mask[0])
		}
	}
}

func (c *census) process() {
	folder, _ := os.Getwd()
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	c.fact("cwd", "process", "%s", folder)
	c.fact("umask", "process", "%o", mask)
}
