// SPDX-License-Identifier: MIT OR Apache-2.0

package gusset

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"time"
)

// DrainLogs moves as many whole lines of the library's log as fit into buf,
// oldest first, each ended by a newline, and returns their bytes; 0 means that
// the log is empty, or buf. A line longer than buf is split. The log is one for
// the process and keeps the latest 64 KiB.
func DrainLogs(buf []byte) int { return nativeDrainLogs(buf) }

// logBytes is the size of the library's log, so that no line is split.
const logBytes = 65536

// LogTo drains the log into logger, one record at level for each line, and
// returns the number of lines.
func LogTo(ctx context.Context, logger *slog.Logger, level slog.Level) int {
	return logTo(ctx, logger, level, make([]byte, logBytes))
}

func logTo(ctx context.Context, logger *slog.Logger, level slog.Level, buf []byte) int {
	lines := 0
	for {
		n := DrainLogs(buf)
		if n == 0 {
			return lines
		}
		for line := range bytes.Lines(buf[:n]) {
			text := string(bytes.TrimSuffix(line, []byte("\n")))
			logger.Log(ctx, level, text, "source", "gusset")
			lines++
		}
	}
}

// ForwardLogs calls LogTo now and every period until ctx ends, then once more,
// and returns the error of ctx. A period that is not positive is an error.
func ForwardLogs(ctx context.Context, logger *slog.Logger, level slog.Level, period time.Duration) error {
	if period <= 0 {
		return errors.New("gusset: log period must be positive")
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	buf := make([]byte, logBytes)
	for {
		logTo(ctx, logger, level, buf)
		select {
		case <-ctx.Done():
			logTo(context.WithoutCancel(ctx), logger, level, buf)
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
