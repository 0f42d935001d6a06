package natsd

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/pause"
	"pennypost/internal/base/selfsigned"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

const (
	// joinPatience is the other machine's time limit for letting this one in.
	joinPatience = 10 * time.Second
	// startPatience is the time limit for the servers of a cluster to accept a new one.
	startPatience = time.Minute
	// tellPatience is how long the servers of a cluster take to learn a new key. An earlier handshake is refused, and
	// retried.
	tellPatience = 200 * time.Millisecond
	// leastSpace is the disk space needed to start a server.
	leastSpace = 64 << 20
)

// Subjects on which a machine with a code asks to join, and is answered.
const (
	joinPrefix    = "cluster.join."
	joinedSubject = "cluster.joined."
)

// joinSubject is the subject on which this machine is asked, followed by the pin of the asking machine.
func (n *node) joinSubject() string { return joinPrefix + selfsigned.PinOf(n.cert.Leaf).String() + "." }

// request is the request of a machine with a code.
type request struct {
	Secret string        `json:"secret"`
	Member config.Member `json:"member"`
	Named  bool          `json:"named,omitempty"` // no other name is acceptable
	// Withdraw says that its server could not be started, and that the join must be undone.
	Withdraw bool `json:"withdraw,omitempty"`
}

// admitted answers a request.
type admitted struct {
	Code    mail.Code    `json:"code,omitempty"` // of an error
	Message string       `json:"message,omitempty"`
	Machine mail.Machine `json:"machine,omitempty"` // its name
	List    list         `json:"list,omitzero"`
}

// init makes a cluster with only this machine.
func (d *daemon) init(ctx context.Context, q wire.ClusterInit) (st wire.ClusterStatus, err error) {
	d.acting.Lock()
	defer d.acting.Unlock()
	if err := d.outside(); err != nil {
		return st, err
	}
	me := config.Member{Machine: q.Name, Key: d.cert.Leaf.RawSubjectPublicKeyInfo, Address: q.Address,
		Joined: mail.TimeOf(time.Now())}
	if err := d.mayListen(&me); err != nil {
		return st, err
	}
	c := &config.Cluster{ID: newID(), Machine: me.Machine, Revision: 1, Members: []config.Member{me}}
	if err = c.Write(d.home); err == nil {
		err = d.begin(c)
	}
	if err != nil {
		d.undo(false)
		return st, err
	}
	d.tendAll()
	return d.status(ctx, wire.None{})
}

// outside prepares for a cluster, and refuses if this machine is in one, or its rooms are on other servers.
func (d *daemon) outside() error {
	if c := d.cluster.Load(); c != nil {
		return mail.Errorf(mail.Conflict, "this machine is already in a cluster, as %s. Nothing was done. To "+
			"leave it: pennypost cluster leave", c.Machine)
	}
	cfg, err := config.Load(d.home, os.Getenv)
	if err != nil {
		return err
	}
	if cfg.Journal.Clustered() {
		return mail.Errorf(mail.Conflict, "[journal] in %s names NATS servers, which may have rooms. Nothing was "+
			"done. Remove urls from it first", d.home.File())
	}
	if _, err := os.Stat(d.home.Servers()); err == nil {
		return mail.Errorf(mail.Conflict, "%s contains an earlier server's data, but this machine is not in a "+
			"cluster. Nothing was done. Move it away first", d.home.Servers())
	}
	return d.prepare()
}

// mayListen returns an error if a member's server could not be started here.
func (d *daemon) mayListen(me *config.Member) error {
	if err := config.CheckMember(me); err != nil {
		return err
	}
	if left, _, err := durable.Space(string(d.home)); err == nil && left < leastSpace {
		return mail.Errorf(mail.Unavailable, "the disk of %s has only %d MiB free; the server needs %d to start. "+
			"Nothing was done", d.home, left>>20, leastSpace>>20)
	}
	at, err := listening(me.Address)
	if err != nil {
		return err
	}
	return at.free()
}

// undo undoes an unfinished init or join. The key may be kept.
func (d *daemon) undo(keepKey bool) {
	d.cluster.Store(nil)
	if d.node != nil {
		d.node.stop()
		d.node = nil
	}
	err := errors.Join(os.RemoveAll(d.home.Servers()), removeFile(d.home.Cluster()), removeFile(d.home.ClusterCodes()))
	if !keepKey {
		err = errors.Join(err, removeFile(d.home.ClusterKey()))
	}
	if err != nil {
		d.log.Error("undo incomplete", "err", err)
	}
}

func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// invite makes a code.
func (d *daemon) invite(_ context.Context, q wire.ClusterInvite) (in wire.ClusterInvited, err error) {
	c, err := d.inCluster()
	if err != nil {
		return in, err
	}
	secret, expires, err := d.codes.make(time.Duration(q.Good) * time.Second)
	if err != nil {
		return in, err
	}
	code := wire.Code{Secret: secret, Trust: selfsigned.Trust{Pin: d.pin()}, Cluster: true}
	return wire.ClusterInvited{Address: c.Member(c.Machine).Address, Code: code.String(), Expires: expires}, nil
}

// admitAll answers machines with a code from this one, until ctx ends.
func (d *daemon) admitAll(ctx context.Context) {
	subject := d.node.joinSubject()
	sub, err := d.node.members.Subscribe(subject+"*", func(m *nats.Msg) {
		a := d.admit(ctx, strings.TrimPrefix(m.Subject, subject), m.Data)
		text, err := json.Marshal(a)
		if err == nil {
			err = m.Respond(text)
		}
		if err != nil {
			d.log.Warn("joining machine not answered", "err", err)
		}
	})
	if err != nil {
		d.log.Error("no machine can join here", "err", err)
		return
	}
	<-ctx.Done()
	_ = sub.Unsubscribe()
}

// admit lets in a machine with a code.
func (d *daemon) admit(ctx context.Context, pin string, data []byte) (a admitted) {
	d.acting.Lock()
	defer d.acting.Unlock()
	var q request
	err := json.Unmarshal(data, &q)
	if err == nil {
		err = config.CheckMember(&q.Member)
	}
	if err == nil && q.Member.Pin().String() != pin {
		err = mail.Errorf(mail.Denied, "the machine's key is not the one it names")
	}
	undo := func() {}
	if err == nil {
		undo, err = d.codes.use(q.Secret, q.Member.Machine, pin)
	}
	if err == nil {
		q.Member.Joined = mail.TimeOf(time.Now())
		var l *list
		l, err = d.update(ctx, func(l *list) (err error) {
			if q.Withdraw {
				l.Members = slices.DeleteFunc(l.Members, func(m config.Member) bool { return m.Pin().String() == pin })
				return nil
			}
			a.Machine, err = l.add(q.Member, q.Named)
			return err
		})
		switch {
		case err != nil || q.Withdraw:
			undo()
		case a.Machine != q.Member.Machine:
			d.codes.rename(q.Secret, a.Machine)
		}
		if l != nil {
			a.List = *l
		}
	}
	if err != nil {
		d.log.Warn("machine not admitted", "machine", q.Member.Machine, "err", err)
		return admitted{Code: mail.CodeOf(err), Message: err.Error()}
	}
	d.log.Info("machine joins", "machine", a.Machine, "address", q.Member.Address, "withdraws", q.Withdraw)
	return a
}

// add adds a machine to the list, and returns its name there. A machine that is already listed stays.
func (l *list) add(m config.Member, named bool) (mail.Machine, error) {
	taken := func(name mail.Machine) bool {
		return slices.Contains(l.Gone, name) ||
			slices.ContainsFunc(l.Members, func(o config.Member) bool { return o.Machine == name })
	}
	for i := range l.Members {
		if l.Members[i].Pin() == m.Pin() {
			l.Members[i].Address = m.Address
			return l.Members[i].Machine, nil
		}
	}
	if len(l.Members) >= maxMembers {
		return "", mail.Errorf(mail.Limited, "the cluster has %d machines, which is the limit", maxMembers)
	}
	for _, o := range l.Members {
		if o.Address == m.Address {
			return "", mail.Errorf(mail.Conflict, "the machine %s of the cluster already has the address %s: "+
				"give another one with --address", o.Machine, m.Address)
		}
	}
	if taken(m.Machine) && named {
		return "", mail.Errorf(mail.Conflict, "a machine called %s is, or was, in the cluster: use another name. "+
			"The code is still valid", m.Machine)
	}
	for n, name := 2, m.Machine; taken(m.Machine); n++ {
		m.Machine = mail.Machine(fmt.Sprintf("%.50s-%d", name, n))
	}
	l.Members = append(l.Members, m)
	return m.Machine, nil
}

// join makes this machine join a cluster.
func (d *daemon) join(ctx context.Context, q wire.ClusterJoin) (st wire.ClusterStatus, err error) {
	d.acting.Lock()
	defer d.acting.Unlock()
	code, err := wire.ParseCode(q.Code)
	if err != nil {
		return st, err
	}
	if !code.Cluster {
		return st, mail.Errorf(mail.Invalid, "that code is for pennypost join, not for a cluster; to make one "+
			"for a cluster: pennypost cluster invite")
	}
	if err := d.outside(); err != nil {
		return st, err
	}
	began := false
	defer func() {
		if !began {
			// It may be in without knowing it: then the same code lets in the same key again.
			d.undo(mail.CodeOf(err) == mail.Timeout)
		}
	}()
	me := config.Member{Machine: q.Name, Key: d.cert.Leaf.RawSubjectPublicKeyInfo}
	if me.Address, err = ownAddress(ctx, q.At, q.Address); err != nil {
		return st, err
	}
	if err := d.mayListen(&me); err != nil {
		return st, err
	}
	door, err := knock(q.At, code, d.cert)
	if err != nil {
		return st, err
	}
	defer door.Close()
	ask := request{Secret: code.Secret.String(), Member: me, Named: q.Named}
	in, err := door.ask(ctx, &ask)
	if err != nil {
		return st, err
	}
	c := &config.Cluster{ID: in.List.ID, Machine: in.Machine, Revision: in.List.Revision,
		Members: in.List.Members, Gone: in.List.Gone}
	pause.For(ctx, tellPatience) // until the other servers have learnt the key
	if err = c.Write(d.home); err == nil {
		err = d.begin(c)
	}
	if err != nil {
		ask.Withdraw = true
		if _, bad := door.ask(context.WithoutCancel(ctx), &ask); bad != nil {
			return st, fmt.Errorf("%w. The cluster still lists this machine; type there: pennypost cluster "+
				"remove %s", err,
				in.Machine)
		}
		return st, err
	}
	began = true
	d.tendAll()
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := d.taken(ctx); err != nil {
		return st, mail.Errorf(mail.Timeout, "this machine is in the cluster, as %s, but the other servers have "+
			"not accepted it yet: their server port may be unreachable (%s). It keeps trying; to check: "+
			"pennypost cluster status", c.Machine, config.RoutesOf(q.At))
	}
	d.settle(ctx)
	return d.status(ctx, wire.None{})
}

// ownAddress completes the address at which others find this machine: without a host, it takes the local address of a
// connection to another machine of the cluster.
func ownAddress(ctx context.Context, at, own string) (string, error) {
	host, port, err := net.SplitHostPort(own)
	if err != nil || host != "" {
		return own, nil // CheckMember reports errors in it
	}
	dialer := net.Dialer{Timeout: joinPatience}
	conn, err := dialer.DialContext(ctx, "tcp", at)
	if err != nil {
		return "", notThere(at, err)
	}
	defer conn.Close()
	host, _, err = net.SplitHostPort(conn.LocalAddr().String())
	return net.JoinHostPort(host, port), err
}

func notThere(at string, err error) error {
	return &mail.Error{Code: mail.Unavailable, Err: err, Msg: fmt.Sprintf("no cluster server answers at %s (%v). "+
		"Nothing was done, and the code is still valid. Check the address, and that its server runs, by typing "+
		"there: pennypost cluster status", at, err)}
}

// door is a connection to the machine that made a code.
type door struct {
	*nats.Conn
	subject string
}

// knock connects to the machine that made a code, and to no other.
func knock(at string, code wire.Code, cert tls.Certificate) (*door, error) {
	pin := selfsigned.PinOf(cert.Leaf).String()
	var other *selfsigned.OtherKeyError
	conf := selfsigned.Peers(cert, func(got selfsigned.Pin) bool {
		if got != code.Trust.Pin {
			other = &selfsigned.OtherKeyError{Got: got, Want: code.Trust.Pin}
		}
		return got == code.Trust.Pin
	})
	nc, err := nats.Connect("tls://"+at, nats.Secure(conf), nats.Token(joiner+code.Secret.String()),
		nats.CustomInboxPrefix(joinedSubject+pin), nats.NoReconnect(), nats.Timeout(joinPatience))
	_, alert := errors.AsType[tls.AlertError](err)
	switch {
	case other != nil:
		return nil, &mail.Error{Code: mail.Denied, Err: err, Msg: fmt.Sprintf("the machine at %s did not make "+
			"this code (%v). Nothing was sent to it", at, other)}
	case errors.Is(err, nats.ErrAuthorization), alert, err != nil && strings.Contains(err.Error(), "tls: "):
		return nil, &mail.Error{Code: mail.Denied, Err: err, Msg: "the machine at " + at + " does not know this " +
			"code: it " +
			"was never made there, or expired more than a day ago. Nothing was done. To make a new one there: " +
			"pennypost cluster invite"}
	case err != nil:
		return nil, notThere(at, err)
	}
	return &door{nc, joinPrefix + code.Trust.Pin.String() + "." + pin}, nil
}

func (c *door) ask(ctx context.Context, q *request) (a admitted, err error) {
	text, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	msg, err := c.RequestWithContext(ctx, c.subject, text)
	if err == nil {
		err = json.Unmarshal(msg.Data, &a)
	}
	switch {
	case err != nil:
		return a, &mail.Error{Code: mail.Timeout, Err: err, Msg: fmt.Sprintf("the other machine has not "+
			"confirmed that this one joined (%v). It may have joined; run the command again", err)}
	case a.Code != "":
		return a, &mail.Error{Code: a.Code, Msg: a.Message}
	case q.Withdraw:
		return a, nil
	}
	for i := range a.List.Members {
		err = errors.Join(err, config.CheckMember(&a.List.Members[i]))
	}
	if _, bad := mail.ParseMachine(a.List.ID); err != nil || bad != nil {
		return a, mail.Errorf(mail.Invalid, "the other machine has sent an invalid list of machines: %v",
			errors.Join(err, bad))
	}
	return a, nil
}

// newID returns a new cluster's id.
func newID() string { return strings.ToLower(rand.Text()[:12]) }
