// SPDX-License-Identifier: MIT OR Apache-2.0

package main

import (
	"os"
	"runtime"
	"time"

	"gusset.dev/go/cases/conform"
)

// soon makes a hang known early.
func soon(c *conform.Case) { c.Timeout = time.Second }

// kept outlives the case that leaks it.
var kept []*os.File

var (
	_ = register("pass", "What is right must not be blamed.", func(t *conform.T) {
		conform.Equal(t, 4, 2+2, "the sum of two and two")
		t.Evidence("sum", "%d", 4)
	})
	_ = register("skip", "What does not apply must not be blamed.", func(t *conform.T) {
		t.Skip("nothing of that here")
	})
	_ = register("out-of-reach", "Nor what is out of reach.", func(t *conform.T) {
		t.OutOfReach("needs what is not there")
	})
	_ = register("wrong-value", "A check that fails is a failure.", func(t *conform.T) {
		conform.Equal(t, 4, 5, "the sum of two and two")
	})
	_ = register("wrong-value-aside", "On any goroutine.", func(t *conform.T) {
		t.Go(func() { conform.Equal(t, 4, 5, "seen by a second goroutine") })
		select {}
	})
	_ = register("wrong-after-the-body", "Also when the body has returned.", func(t *conform.T) {
		returned := make(chan bool)
		t.True(true, "a check")
		t.Go(func() {
			<-returned
			conform.Equal(t, 4, 5, "seen late")
		})
		close(returned)
	})
	_ = register("no-check", "A case that checks nothing shows nothing.", func(*conform.T) {})
	_ = register("left-by-goexit", "Nor does one that was left half-way.", func(t *conform.T) {
		t.True(true, "a check")
		runtime.Goexit()
	})
	_ = register("panic", "A panic ends the process.", func(t *conform.T) {
		t.True(true, "a check")
		panic("words of the panic")
	})
	_ = register("panic-aside", "On any goroutine.", func(t *conform.T) {
		t.True(true, "a check")
		t.Go(func() { panic("words of the panic aside") })
		select {}
	})
	_ = register("nil-dereferenced", "So does a fault in Go code.", func(t *conform.T) {
		var nothing *conform.Case
		t.True(true, "a check")
		t.Evidence("id", "%s", nothing.ID)
	})
	_ = register("exit-in-the-middle", "An exit is not an end.", func(t *conform.T) {
		t.True(true, "a check")
		os.Exit(0)
	})
	_ = register("exit-two", "Whatever its code.", func(t *conform.T) {
		t.True(true, "a check")
		os.Exit(2)
	})
	_ = register("deadlock", "The runtime ends a process that cannot go on.", func(t *conform.T) {
		t.True(true, "a check")
		<-make(chan bool)
	})
	_ = register("hang-busy", "What computes for ever does not end.", func(t *conform.T) {
		t.Marker("before the loop")
		for t.Rounds(1, 1) == 1 {
			t.True(true, "a check")
		}
	}, soon)
	_ = register("hang-asleep", "Nor does what waits for ever.", func(t *conform.T) {
		t.Marker("before the wait")
		<-time.After(time.Hour)
	}, soon)
	_ = register("leak-descriptor", "What is left open is a leak.", func(t *conform.T) {
		file, err := os.Open("/dev/null")
		t.NoError(err, "open")
		kept = append(kept, file)
	})
	_ = register("leak-goroutine", "So is what still runs.", func(t *conform.T) {
		t.True(true, "a check")
		go func() { select {} }()
	})
)
