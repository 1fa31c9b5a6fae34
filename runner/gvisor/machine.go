//go:build linux

package gvisor

import (
	"context"

	"github.com/boxer-ci/boxer/runner"
	"github.com/boxer-ci/boxer/runner/gvisor/guest"
)

// machine is the parent while it is being prepared: services and setup may do more than later commands.
type machine struct {
	e *engine
	s *sandbox
}

// Exec runs a command as a child of init.
func (m machine) Exec(ctx context.Context, c runner.Command) (runner.Exit, error) {
	return m.e.execParent(ctx, m.s, c, m.e.privileges.prepare)
}

// Serve starts a service as a child of init.
func (m machine) Serve(ctx context.Context, name string, c runner.Command) (runner.ServiceProcess, error) {
	req, err := m.e.request(c, m.e.privileges.prepare)
	if err != nil {
		return nil, err
	}
	req.Service = name
	p := service{m, name}
	res, err := p.ask(ctx, req)
	if err != nil {
		return nil, err
	}
	return p, m.e.failure(res.Failure, res.Message, c)
}

// service is one that init started.
type service struct {
	machine
	name string
}

func (p service) ask(ctx context.Context, r guest.Request) (guest.Result, error) {
	streams, err := openStreams(runner.Command{})
	if err != nil {
		return guest.Result{}, err
	}
	defer streams.finish()
	return p.e.ask(ctx, p.s, r, streams.files[:], runner.Command{})
}

func (p service) Ended(ctx context.Context) (runner.Exit, bool, error) {
	res, err := p.ask(ctx, guest.Request{Status: p.name})
	return exitOf(res), res.Ended, err
}

func (p service) Log(ctx context.Context) ([]string, error) {
	res, err := p.ask(ctx, guest.Request{Status: p.name})
	return res.Log, err
}
