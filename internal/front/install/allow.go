package install

import (
	"slices"

	"pennypost/internal/front/install/jsonc"
)

// allowance is an element of a list in a JSON file that stops the client from asking before it uses our tools. It
// names no program, so it is known by its value. If nothing else of ours is in the file, it counts as the person's.
type allowance struct {
	path  []string // of the list
	value string   // the element, as JSON
}

// find returns the element and the list that it is in, or nil if it is missing.
func (a *allowance) find(text []byte) (list *jsonc.Node, it *jsonc.Item) {
	if a == nil {
		return nil, nil
	}
	root, err := jsonc.Parse(text)
	want, errValue := jsonc.Parse([]byte(a.value))
	if err != nil || errValue != nil {
		return nil, nil // the editor has reported the error
	}
	if list = root.At(a.path...); list == nil || list.Kind != jsonc.Array {
		return nil, nil
	}
	i := slices.IndexFunc(list.Items, func(it *jsonc.Item) bool { return jsonc.Equal(it.Value, want) })
	if i < 0 {
		return nil, nil
	}
	return list, list.Items[i]
}

func (a *allowance) in(text []byte) bool {
	_, it := a.find(text)
	return it != nil
}

// allowNotes say whether the client will ask about our tools, if the installation decides that.
func (c *Client) allowNotes(o *Options) []string {
	switch {
	case c.allows == "":
		return nil
	case o.Ask:
		return []string{c.Title + " asks you before it uses Pennypost's tools. An agent that is alone waits there."}
	}
	return []string{"Pennypost's tools are used without asking (" + c.allows + "), and no others. To be asked: " +
		"pennypost install " + c.Name + " --ask"}
}

// put adds the element to a text that lacks it, or removes it if the client should ask.
func (a *allowance) put(text []byte, ask bool) ([]byte, error) {
	switch {
	case a == nil:
		return text, nil
	case ask:
		return a.remove(text, nil)
	case a.in(text):
		return text, nil
	}
	return jsonc.Append(text, a.path, a.value)
}

// remove takes the element out, and then empty containers, unless base has them.
func (a *allowance) remove(text, base []byte) ([]byte, error) {
	list, it := a.find(text)
	if it == nil {
		return text, nil
	}
	text, err := prune(list.Delete(it), base, a.path...)
	if err != nil {
		return nil, err
	}
	return a.remove(text, base) // it may be there twice
}

// piece returns the element in the form of a removed entry.
func (a *allowance) piece() piece { return piece{path: a.path, raw: a.value} }

// putAllows adds the member that allows the tools to a server that lacks it, or removes it if the client should ask.
func (s *jsonServer) putAllows(text []byte, is *jsonc.Node, ask bool) ([]byte, error) {
	path := []string{s.in, serverName, s.allows.name}
	switch {
	case s.allows.name == "":
	case is == nil && !ask:
		return jsonc.Set(text, path, s.allows.raw)
	case is != nil && ask && string(is.Raw()) == s.allows.raw:
		return deleteMember(text, path...)
	}
	return text, nil
}
