package install

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"pennypost/internal/front/install/jsonc"
	"pennypost/internal/mail"
)

// jsonFile is the editor of JSON files, with comments or without.
type jsonFile struct {
	o *Options
	// scaffold are further members of the document that the client requires.
	scaffold []piece
	server   *jsonServer
	hooks    *jsonHooks
	allows   *allowance // nil: the file has no such list
	// strict says that the client refuses a whole file because of a comment or a comma after the last member.
	strict bool
}

// jsonServer is an MCP server in a JSON file.
type jsonServer struct {
	in    string // the member that holds the servers
	value string
	list  bool // the command is a list that includes the arguments
	// allows is the member that lets the client use the tools without asking. It replaces no value of the person's.
	allows piece
}

// jsonHooks are hooks in a member of a JSON file: lists of handlers, or of groups of them, by event.
type jsonHooks struct {
	client string
	in     string // the member; "": "hooks"
	groups bool
	events []jsonHook
	// owns returns the program that a command line starts, and whether the line is ours. Nil: if it runs our hooks.
	owns func(line string) (binary string, ours bool)
}

type jsonHook struct {
	event, command string
	value          string // the element
}

func (h *jsonHooks) member() string { return cmp.Or(h.in, "hooks") }

// commandKeys are the members in which clients keep command lines.
func commandKeys() []string { return []string{"command", "bash", "powershell"} }

func (f *jsonFile) put(text []byte) ([]byte, error) {
	before := text
	if plain := bytes.TrimPrefix(text, []byte("\ufeff")); f.strict && len(bytes.TrimSpace(plain)) > 0 &&
		!json.Valid(plain) {
		if _, err := jsonc.Parse(text); err == nil {
			return nil, mail.Errorf(mail.Invalid,
				"the file has comments, or a comma after the last member, so the client would ignore it. Nothing "+
					"was written; remove them, and try again")
		}
	}
	text, err := f.update(text)
	if err != nil {
		return nil, explain(err)
	}
	return text, f.verify(before, text)
}

func (f *jsonFile) update(text []byte) ([]byte, error) {
	text, err := f.putScaffold(text)
	if err == nil && f.server != nil {
		text, err = f.putServer(text)
	}
	if err == nil && f.hooks != nil {
		text, err = f.putHooks(text)
	}
	if err == nil {
		text, err = f.allows.put(text, f.o.Ask)
	}
	return text, err
}

// verify checks an edit, because the file is someone's: without our entries both texts must mean the same.
func (f *jsonFile) verify(before, after []byte) error {
	was, err := f.rest(before)
	if err != nil {
		return err
	}
	is, err := f.rest(after)
	if err != nil || !alike(was, is) {
		return mail.Errorf(mail.Internal, "the edit would change something else in the file. Nothing was changed; "+
			"please report this with the file")
	}
	return nil
}

// rest returns the document without our entries, with the scaffold.
func (f *jsonFile) rest(text []byte) (*jsonc.Node, error) {
	text, _, err := f.take(text, text)
	if err == nil {
		text, err = f.allows.remove(text, text)
	}
	if err == nil {
		text, err = f.putScaffold(text)
	}
	if err != nil {
		return nil, explain(err)
	}
	return jsonc.Parse(text)
}

// alike reports whether two values mean the same, where an empty value equals a missing one.
func alike(a, b *jsonc.Node) bool {
	if hollow(a) || hollow(b) {
		return hollow(a) && hollow(b)
	}
	if a.Kind != jsonc.Object || b.Kind != jsonc.Object {
		return jsonc.Equal(a, b)
	}
	for _, it := range slices.Concat(a.Items, b.Items) {
		if !alike(a.Member(it.Name), b.Member(it.Name)) {
			return false
		}
	}
	return true
}

func hollow(n *jsonc.Node) bool {
	if n == nil {
		return true
	}
	if n.Kind == jsonc.Array {
		return len(n.Items) == 0
	}
	return n.Kind == jsonc.Object && !slices.ContainsFunc(n.Items, func(it *jsonc.Item) bool {
		return !hollow(it.Value)
	})
}

func (f *jsonFile) putScaffold(text []byte) ([]byte, error) {
	for _, m := range f.scaffold {
		root, err := jsonc.Parse(text)
		if err != nil {
			return nil, err
		}
		if root.Member(m.name) == nil {
			if text, err = jsonc.Set(text, []string{m.name}, m.raw); err != nil {
				return nil, err
			}
		}
	}
	return text, nil
}

func (f *jsonFile) putServer(text []byte) ([]byte, error) {
	s := f.server
	root, err := jsonc.Parse(text)
	if err != nil {
		return nil, err
	}
	n := root.At(s.in, serverName)
	if n == nil {
		return jsonc.Set(text, []string{s.in, serverName}, s.value)
	}
	old := s.command(n)
	if _, ours := serverOf(old); !ours {
		return nil, notOurs(n.Line())
	}
	if text, err = s.putAllows(text, n.Member(s.allows.name), f.o.Ask); err != nil {
		return nil, err
	}
	wanted := serverCommand(f.o, old)
	if slices.Equal(old, wanted) {
		return text, nil
	}
	if s.list {
		return jsonc.Set(text, []string{s.in, serverName, "command"}, raw(wanted))
	}
	if text, err = jsonc.Set(text, []string{s.in, serverName, "command"}, raw(wanted[0])); err != nil ||
		slices.Equal(old[1:], wanted[1:]) {
		return text, err
	}
	return jsonc.Set(text, []string{s.in, serverName, "args"}, raw(wanted[1:]))
}

func notOurs(line int) error {
	return mail.Errorf(mail.Conflict, "line %d: another MCP server is called %q. Rename or remove it there, then "+
		"install again", line, serverName)
}

// command returns the command and arguments of a server.
func (s *jsonServer) command(n *jsonc.Node) []string {
	var words []string
	args := n.Member("command")
	if !s.list {
		words = append(words, args.Text())
		args = n.Member("args")
	}
	if args != nil {
		for _, it := range args.Items {
			words = append(words, it.Value.Text())
		}
	}
	return words
}

func (f *jsonFile) putHooks(text []byte) ([]byte, error) {
	for _, h := range f.hooks.events {
		all, err := f.hooks.find(text)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, h.is)
		switch {
		case i < 0:
			text, err = jsonc.Append(text, []string{f.hooks.member(), h.event}, h.value)
		case all[i].command.Text() != h.command:
			text, err = all[i].command.Replace(jsonc.Quote(h.command))
		}
		if err != nil {
			return nil, err
		}
	}
	return f.hooks.dropOthers(text)
}

// is reports whether a hook in a document is this one, whatever program it starts.
func (h *jsonHook) is(x hookAt) bool {
	return x.event == h.event && isWait(x.command.Text()) == isWait(h.command)
}

// dropOthers removes our unwanted hooks, and duplicates of the wanted ones.
func (h *jsonHooks) dropOthers(text []byte) ([]byte, error) {
	for {
		all, err := h.find(text)
		if err != nil {
			return nil, err
		}
		seen := make(map[int]bool)
		i := slices.IndexFunc(all, func(x hookAt) bool {
			which := slices.IndexFunc(h.events, func(e jsonHook) bool { return e.is(x) })
			extra := which < 0 || seen[which]
			seen[which] = true
			return extra
		})
		if i < 0 {
			return text, nil
		}
		text, _ = all[i].remove()
		if text, err = prune(text, nil, h.member(), all[i].event); err != nil {
			return nil, err
		}
	}
}

// hookAt is a hook of ours in a document.
type hookAt struct {
	in      string // the member that holds the hooks
	event   string
	binary  string
	command *jsonc.Node
	list    *jsonc.Node // the event's
	element *jsonc.Item // of list: the handler, or the group it is in
	inner   *jsonc.Node // the group's list of handlers, nil without groups
	handler *jsonc.Item
}

// find returns our hooks in document order.
func (h *jsonHooks) find(text []byte) ([]hookAt, error) {
	root, err := jsonc.Parse(text)
	if err != nil {
		return nil, err
	}
	var all []hookAt
	hooks := root.Member(h.member())
	if hooks == nil {
		return nil, nil
	}
	for _, ev := range hooks.Items {
		for _, el := range ev.Value.Items {
			if !h.groups {
				if binary, command := h.ours(el.Value); command != nil {
					all = append(all, hookAt{h.member(), ev.Name, binary, command, ev.Value, el, nil, el})
				}
				continue
			}
			inner := el.Value.Member("hooks")
			if inner == nil {
				continue
			}
			for _, it := range inner.Items {
				if binary, command := h.ours(it.Value); command != nil {
					all = append(all, hookAt{h.member(), ev.Name, binary, command, ev.Value, el, inner, it})
				}
			}
		}
	}
	return all, nil
}

func (h *jsonHooks) ours(handler *jsonc.Node) (binary string, command *jsonc.Node) {
	owns := h.owns
	if owns == nil {
		owns = func(line string) (string, bool) { return hookOf(line, h.client) }
	}
	for _, key := range commandKeys() {
		n := handler.Member(key)
		if binary, ours := owns(n.Text()); ours {
			return binary, n
		}
	}
	return "", nil
}

// remove takes the hook out of its document, and its group too if that holds nothing else.
func (x *hookAt) remove() ([]byte, piece) {
	p := piece{path: []string{x.in, x.event}, raw: string(x.element.Value.Raw())}
	if x.inner != nil && len(x.inner.Items) > 1 {
		p.partly = true
		return x.inner.Delete(x.handler), p
	}
	return x.list.Delete(x.element), p
}

func (f *jsonFile) strip(text, base []byte) ([]byte, []piece, error) {
	text, taken, err := f.take(text, base)
	if err != nil || len(taken) == 0 {
		return text, taken, explain(err)
	}
	if f.allows.in(text) && !f.allows.in(base) {
		taken = append(taken, f.allows.piece())
		text, err = f.allows.remove(text, base)
	}
	if err == nil {
		text, err = f.stripScaffold(text, base)
	}
	return text, taken, explain(err)
}

// take removes our server and our hooks.
func (f *jsonFile) take(text, base []byte) ([]byte, []piece, error) {
	var taken []piece
	root, err := jsonc.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	if f.server != nil {
		if n := root.At(f.server.in, serverName); n != nil {
			if _, ours := serverOf(f.server.command(n)); ours {
				taken = append(taken, piece{path: []string{f.server.in}, name: serverName, raw: string(n.Raw())})
				if text, err = deleteMember(text, f.server.in, serverName); err == nil {
					text, err = prune(text, base, f.server.in)
				}
			}
		}
	}
	for f.hooks != nil && err == nil {
		var all []hookAt
		if all, err = f.hooks.find(text); err != nil || len(all) == 0 {
			break
		}
		var p piece
		text, p = all[0].remove()
		taken = append(taken, p)
		text, err = prune(text, base, f.hooks.member(), all[0].event)
	}
	return text, taken, err
}

// stripScaffold removes the scaffold from a document that has nothing else.
func (f *jsonFile) stripScaffold(text, base []byte) ([]byte, error) {
	root, err := jsonc.Parse(text)
	if err != nil || root == nil || len(root.Items) != len(f.scaffold) {
		return text, err
	}
	was, err := jsonc.Parse(base)
	if err != nil {
		return text, nil // a malformed backup is not our concern
	}
	for _, m := range f.scaffold {
		if n := root.Member(m.name); n == nil || string(n.Raw()) != m.raw || was.Member(m.name) != nil {
			return text, nil
		}
	}
	for _, m := range f.scaffold {
		if text, err = deleteMember(text, m.name); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// prune removes the container at path, and those around it, if they are empty and were not in base.
func prune(text, base []byte, path ...string) ([]byte, error) {
	was, err := jsonc.Parse(base)
	if err != nil {
		was = nil
	}
	for ; len(path) > 0; path = path[:len(path)-1] {
		root, err := jsonc.Parse(text)
		if err != nil {
			return nil, err
		}
		n := root.At(path...)
		if n == nil || len(bytes.TrimSpace(n.Raw()[1:len(n.Raw())-1])) > 0 || was.At(path...) != nil {
			return text, nil
		}
		if text, err = deleteMember(text, path...); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func deleteMember(text []byte, path ...string) ([]byte, error) {
	root, err := jsonc.Parse(text)
	if err != nil {
		return nil, err
	}
	last := len(path) - 1
	in := root.At(path[:last]...)
	for _, it := range slices.Backward(in.Items) { // like Member: the last one counts
		if it.Name == path[last] {
			return in.Delete(it), nil
		}
	}
	return text, nil
}

func (f *jsonFile) replay(base []byte, taken []piece) ([]byte, error) {
	text, err := f.putScaffold(base)
	for _, p := range taken {
		switch {
		case err != nil:
			return nil, err
		case p.partly:
			return nil, errors.New("it stood among others")
		case p.name != "":
			text, err = jsonc.Set(text, append(slices.Clone(p.path), p.name), p.raw)
		default:
			text, err = jsonc.Append(text, p.path, p.raw)
		}
	}
	return text, err
}

func (f *jsonFile) entries(text []byte) ([]Entry, error) {
	root, err := jsonc.Parse(text)
	if err != nil {
		return nil, explain(err)
	}
	var all []Entry
	if f.server != nil {
		if servers := root.Member(f.server.in); servers != nil {
			for _, it := range servers.Items {
				if binary, ours := serverOf(f.server.command(it.Value)); ours {
					all = append(all, Entry{"MCP server " + it.Name, binary, it.Value.Line()})
				}
			}
		}
	}
	if f.hooks != nil {
		hooks, err := f.hooks.find(text)
		if err != nil {
			return nil, explain(err)
		}
		for _, x := range hooks {
			what := "hook " + x.event
			if isWait(x.command.Text()) {
				what += " that waits"
			}
			all = append(all, Entry{what, x.binary, x.command.Line()})
		}
	}
	return all, nil
}

func (f *jsonFile) blank(text []byte) bool {
	root, err := jsonc.Parse(text)
	return err == nil && (root == nil || root.Kind == jsonc.Object &&
		len(bytes.TrimSpace(root.Raw()[1:len(root.Raw())-1])) == 0)
}

// explain turns an error of the editor into one that says what to do.
func explain(err error) error {
	if e, ok := errors.AsType[*jsonc.SyntaxError](err); ok {
		return mail.Errorf(mail.Invalid, "this is not JSON: %w. The file was not changed; correct it and try again", e)
	}
	if path, ok := errors.AsType[*jsonc.PathError](err); ok {
		return mail.Errorf(mail.Invalid, "%w. The file was not changed; correct it and try again", path)
	}
	if _, ok := errors.AsType[*mail.Error](err); ok || err == nil {
		return err
	}
	return fmt.Errorf("edit: %w", err)
}
