// Three paths in goroutines: what each waits in fsync is measured here and printed, as paths.c does.
package main

import (
	"fmt"
	"os"
	"time"
)

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
func path_of_a(file *os.File) time.Duration { return until(file, 200*time.Millisecond) }

//go:noinline
func path_of_b(file *os.File) time.Duration { return until(file, 300*time.Millisecond) }

//go:noinline
func path_of_c(file *os.File) time.Duration { return until(file, 500*time.Millisecond) }

func main() {
	file, err := os.OpenFile(os.Args[1], os.O_RDWR|os.O_CREATE, 0600)
	if err != nil {
		panic(err)
	}
	for name, path := range map[string]func(*os.File) time.Duration{
		"path_of_a": path_of_a, "path_of_b": path_of_b, "path_of_c": path_of_c,
	} {
		done := make(chan time.Duration)
		go func() { done <- path(file) }()
		fmt.Println(name, (<-done).Nanoseconds(), 0)
	}
}
