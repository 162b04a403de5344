// Three paths in goroutines: what each waits in fsync and computes is measured here and printed, as paths.c does.
// paths FILE [UNIT], where UNIT is as there.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

var sink int

// Of the thread (clock_gettime(2), CLOCK_THREAD_CPUTIME_ID).
func onCPU() time.Duration {
	var at syscall.Timespec
	if _, _, failed := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 3, uintptr(unsafe.Pointer(&at)), 0); failed != 0 {
		panic(failed)
	}
	return time.Duration(at.Nano())
}

//go:noinline
func compute(most time.Duration) {
	for before := onCPU(); onCPU()-before < most; {
		for i := 0; i < 200000; i++ {
			sink += i * i
		}
	}
}

//go:noinline
func syncOnce(file *os.File) time.Duration {
	if _, err := file.WriteAt([]byte("x"), 0); err != nil {
		panic(err)
	}
	before := time.Now()
	if err := file.Sync(); err != nil {
		panic(err)
	}
	return time.Since(before)
}

//go:noinline
func until(file *os.File, most time.Duration) (sum time.Duration) {
	for syncs := 0; syncs < 40 || sum < most; syncs++ {
		sum += syncOnce(file)
	}
	return sum
}

//go:noinline
func path_of_a(file *os.File, unit time.Duration) time.Duration {
	synced := until(file, 200*time.Millisecond)
	compute(unit)
	return synced
}

//go:noinline
func path_of_b(file *os.File, unit time.Duration) time.Duration {
	synced := until(file, 300*time.Millisecond)
	compute(2 * unit)
	return synced
}

//go:noinline
func path_of_c(file *os.File, unit time.Duration) time.Duration {
	synced := until(file, 500*time.Millisecond)
	compute(7 * unit)
	return synced
}

func main() {
	file, err := os.OpenFile(os.Args[1], os.O_RDWR|os.O_CREATE, 0600)
	if err != nil {
		panic(err)
	}
	unit := time.Duration(0)
	if len(os.Args) > 2 {
		ms, err := strconv.Atoi(os.Args[2])
		if err != nil {
			panic(err)
		}
		unit = time.Duration(ms) * time.Millisecond
	}
	for name, path := range map[string]func(*os.File, time.Duration) time.Duration{
		"path_of_a": path_of_a, "path_of_b": path_of_b, "path_of_c": path_of_c,
	} {
		done := make(chan [2]time.Duration)
		go func() {
			runtime.LockOSThread()
			before := onCPU()
			synced := path(file, unit)
			done <- [2]time.Duration{synced, onCPU() - before}
		}()
		took := <-done
		fmt.Println(name, took[0].Nanoseconds(), took[1].Nanoseconds())
	}
}
