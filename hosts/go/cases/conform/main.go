// SPDX-License-Identifier: MIT OR Apache-2.0

package conform

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"
)

// Exit codes of the protocol.
const (
	exitUsage  = 2
	exitOurBug = 70
)

// Subject is what the program runs on; its members may be nil.
type Subject struct {
	// Prove says which image holds the library's code, by its build id, or
	// why it is not the artifact at impl.
	Prove func(impl string) (buildID string, err error)
	// WarmUp lives one small life, so that what is made once is there before
	// the first census.
	WarmUp func() error
	// LiveBytes is what the library says that it holds.
	LiveBytes func() uint64
}

type options struct {
	list   bool
	run    string
	page   string
	impl   string
	seed   uint64
	effort effort
	scale  float64
}

var usage = `usage: %[1]s --list
       %[1]s --run ID [--page FILE] [--impl FILE] [--seed N]
          [--claims FILE] [--test-engine FILE]
          [--effort survey|normal|nightly] [--timeout-scale X]
`

type effort int

const (
	normal effort = iota
	survey
	nightly
)

// Main runs the program and does not return.
func Main(subject Subject) {
	if len(os.Args) > 2 && os.Args[1] == childArgument {
		os.Exit(beChild(os.Args[2], os.Args[3:]))
	}
	options, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "conform: %v\n", err)
		os.Exit(exitUsage)
	}
	cases, err := sorted()
	if err != nil {
		fmt.Fprintf(os.Stderr, "conform: %v\n", err)
		os.Exit(exitOurBug)
	}
	if options.list {
		if err := list(os.Stdout, cases); err != nil {
			fmt.Fprintf(os.Stderr, "conform: --list: %v\n", err)
			os.Exit(exitOurBug)
		}
		os.Exit(0)
	}
	for i := range cases {
		if cases[i].ID == options.run {
			runCase(&cases[i], options, subject)
		}
	}
	fmt.Fprintf(os.Stderr, "conform: no case %s (--list shows them)\n", options.run)
	os.Exit(exitUsage)
}

func parse(words []string) (*options, error) {
	var o options
	var seed, effort, scale, ignored string
	values := map[string]*string{
		"--run": &o.run, "--page": &o.page, "--impl": &o.impl, "--seed": &seed,
		"--effort": &effort, "--timeout-scale": &scale,
		"--claims": &ignored, "--test-engine": &ignored,
	}
	seen := map[string]bool{}
	for i := 0; i < len(words); i++ {
		word := words[i]
		into, known := values[word]
		switch {
		case word == "--help":
			fmt.Printf(usage, os.Args[0])
			os.Exit(0)
		case word == "--list":
			o.list = true
			continue
		case !known:
			return nil, fmt.Errorf("unknown argument %s (--help shows them)", word)
		case i+1 == len(words):
			return nil, fmt.Errorf("%s needs a value", word)
		case seen[word]:
			return nil, fmt.Errorf("%s is given twice", word)
		}
		seen[word] = true
		i++
		*into = words[i]
	}
	if !o.list && o.run == "" {
		return nil, errors.New("nothing to do: --list or --run ID")
	}
	return &o, o.numbers(seed, effort, scale)
}

func (o *options) numbers(seed, effort, scale string) (err error) {
	o.seed, o.scale = 1, 1
	if seed != "" {
		if o.seed, err = strconv.ParseUint(seed, 0, 64); err != nil {
			return fmt.Errorf("--seed %s is not a number of 64 bits", seed)
		}
	}
	if scale != "" {
		o.scale, err = strconv.ParseFloat(scale, 64)
		if err != nil || !(o.scale > 0 && o.scale <= 10000) {
			return fmt.Errorf("--timeout-scale %s is not a number above 0, 10000 at most", scale)
		}
	}
	switch effort {
	case "", "normal":
	case "survey":
		o.effort = survey
	case "nightly":
		o.effort = nightly
	default:
		return fmt.Errorf("--effort %s is not survey, normal or nightly", effort)
	}
	return nil
}

// runCase runs one case to the end of the process. A panic of Go ends in
// SIGABRT with all stacks shown, so that the system says that it crashed.
func runCase(c *Case, o *options, subject Subject) {
	debug.SetTraceback("crash")
	p := privatePage()
	if o.page != "" {
		var err error
		if p, err = mapPage(o.page); err != nil {
			fmt.Fprintf(os.Stderr, "conform: %v\n", err)
			os.Exit(exitUsage)
		}
	}
	p.seed = o.seed
	t := &T{page: p, options: o, rand: rand.New(rand.NewPCG(o.seed, o.seed))}
	t.prepare(c, subject)
	before := takeCensus(subject.LiveBytes)
	p.censusBeforeBytes = uint32(copy(p.censusBefore[:], before.text()))
	p.enter(phaseBody)
	if !runBody(c, t) {
		t.Broken("the body was left half-way, by runtime.Goexit")
	}
	t.started.Wait()
	if c.Tags&NoCensus == 0 {
		t.settle(&before)
	}
	after := takeCensus(subject.LiveBytes)
	p.censusAfterBytes = uint32(copy(p.censusAfter[:], after.text()))
	p.enter(phaseReturned)
	if atomic.LoadUint32(&p.failing) == 0 {
		p.end(outcomePassed)
		t.exit(0)
	}
	select {} // whoever failed is about to end the process
}

// runBody is false when the body was left by runtime.Goexit. A panic is the
// end of the process.
func runBody(c *Case, t *T) bool {
	returned := make(chan bool)
	go func() {
		whole := false
		defer func() {
			if reason := recover(); reason != nil {
				panic(reason)
			}
			returned <- whole
		}()
		c.Run(t)
		whole = true
	}()
	return <-returned
}

// prepare comes before the first census.
func (t *T) prepare(c *Case, subject Subject) {
	wakePoller(t)
	if subject.Prove != nil {
		id, err := subject.Prove(t.options.impl)
		if err != nil {
			t.Broken("%v", err)
		}
		t.Evidence("build-id", "%s", id)
	}
	if c.Tags&Cold == 0 && subject.WarmUp != nil {
		err := subject.WarmUp()
		t.NoError(err, "the warm-up: open, call, close")
	}
}

// wakePoller makes the runtime open the descriptors of its poller, which stay.
func wakePoller(t *T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Broken("no pipe: %v", err)
	}
	read.SetReadDeadline(time.Now())
	if _, err = read.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Broken("the poller does not work: %v", err)
	}
	read.Close()
	write.Close()
}
