// Package keeper runs one scope's sandboxes inside a process that nothing can outlive: boxer started once more as
// the first process of its own PID and mount namespace. When it dies, in any way, the kernel ends everything in it.
//
// It owns that process from both sides: the client starts it, or finds it by its socket, and is a runner.Session;
// the server takes one request per connection, hands the caller's own stdin, stdout and stderr to the command, and
// gives it an Engine to do the work with. It must know nothing about any engine.
//
// The choice a reader would question: there is no multiplexing. Every call is a connection of its own, so a caller
// that dies is seen as an end of file of exactly what it was waiting for; one connection more, held open by each
// session, is the lease of what that session made.
package keeper
